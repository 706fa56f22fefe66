//! A program that kafka-protocol reads and writes with, for tests/languages/peer_testee.py: a request a line, an answer
//! a line. `messages.rs` has its messages, printed from its own sources.

use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable, Message, StrBytes};
use kafka_protocol::records::RecordBatchDecoder;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use uuid::Uuid;

/// What does not go, in words.
pub type Wrong = String;

/// What a message does with bytes or with a value; without a version it is of its newest.
pub struct Codec {
    name: &'static str,
    fresh: fn() -> Value,
    decode: fn(&mut Bytes, Option<i16>) -> Result<Value, Wrong>,
    encode: fn(&Value, Option<i16>) -> Result<BytesMut, Wrong>,
}

pub fn codec<T: Spoken + Default + Encodable + Decodable + Message>(name: &'static str) -> Codec {
    Codec {
        name,
        fresh: || T::default().speak(),
        decode: |data, version| {
            let found = T::decode(data, version.unwrap_or(T::VERSIONS.max));
            found.map(|value| value.speak()).map_err(|error| error.to_string())
        },
        encode: |value, version| {
            let mut out = BytesMut::new();
            let written = T::hear(value)?.encode(&mut out, version.unwrap_or(T::VERSIONS.max));
            written.map(|()| out).map_err(|error| error.to_string())
        },
    }
}

/// A value as JSON and back.
pub trait Spoken: Sized {
    fn speak(&self) -> Value;
    fn hear(value: &Value) -> Result<Self, Wrong>;
}

fn hear_into<T: Spoken>(into: &mut T, value: &Value, name: &str) -> Result<(), Wrong> {
    let given = value.as_object().ok_or_else(|| format!("no object: {value}"))?;
    if let Some(found) = given.get(&name.replace('_', "")) {
        *into = T::hear(found)?;
    }
    Ok(())
}

macro_rules! message {
    ($module:ident::$name:ident { $($field:ident),* }) => {
        impl crate::Spoken for $module::$name {
            fn speak(&self) -> serde_json::Value {
                serde_json::json!({$(stringify!($field): self.$field.speak()),*})
            }

            fn hear(value: &serde_json::Value) -> Result<Self, crate::Wrong> {
                let mut found = Self::default();
                $(crate::hear_into(&mut found.$field, value, stringify!($field))?;)*
                Ok(found)
            }
        }
    };
}

macro_rules! newtype {
    ($name:ident) => {
        impl crate::Spoken for $name {
            fn speak(&self) -> serde_json::Value {
                self.0.speak()
            }

            fn hear(value: &serde_json::Value) -> Result<Self, crate::Wrong> {
                crate::Spoken::hear(value).map(Self)
            }
        }
    };
}

mod messages;

macro_rules! whole {
    ($($kind:ty)*) => {$(
        impl Spoken for $kind {
            fn speak(&self) -> Value {
                json!(self)
            }

            fn hear(value: &Value) -> Result<Self, Wrong> {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.parse().map_err(|error| format!("{text}: {error}"))
            }
        }
    )*};
}

whole!(u16 u32 i8 i16 i32 i64);

impl Spoken for bool {
    fn speak(&self) -> Value {
        json!(self)
    }

    fn hear(value: &Value) -> Result<Self, Wrong> {
        value.as_bool().ok_or_else(|| format!("no flag: {value}"))
    }
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(value: &Value) -> Result<Bytes, Wrong> {
    let text = value.as_str().ok_or_else(|| format!("no hexadecimal: {value}"))?;
    let pair = |at: usize| {
        let two = text.get(at..at + 2)?;
        u8::from_str_radix(two, 16).ok()
    };
    let found: Option<Bytes> = (0..text.len()).step_by(2).map(pair).collect();
    found.ok_or_else(|| format!("no hexadecimal: {text}"))
}

impl Spoken for Bytes {
    fn speak(&self) -> Value {
        json!(hex(self))
    }

    fn hear(value: &Value) -> Result<Self, Wrong> {
        unhex(value)
    }
}

impl Spoken for StrBytes {
    fn speak(&self) -> Value {
        json!(self.as_str())
    }

    fn hear(value: &Value) -> Result<Self, Wrong> {
        let text = value.as_str().ok_or_else(|| format!("no text: {value}"))?;
        Ok(Self::from_string(text.to_owned()))
    }
}

impl Spoken for Uuid {
    fn speak(&self) -> Value {
        json!(self.to_string())
    }

    fn hear(value: &Value) -> Result<Self, Wrong> {
        let text = value.as_str().unwrap_or_default();
        text.parse().map_err(|error| format!("{text}: {error}"))
    }
}

impl<T: Spoken> Spoken for Option<T> {
    fn speak(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::speak)
    }

    fn hear(value: &Value) -> Result<Self, Wrong> {
        if value.is_null() {
            Ok(None)
        } else {
            T::hear(value).map(Some)
        }
    }
}

impl<T: Spoken> Spoken for Vec<T> {
    fn speak(&self) -> Value {
        self.iter().map(T::speak).collect()
    }

    fn hear(value: &Value) -> Result<Self, Wrong> {
        let items = value.as_array().ok_or_else(|| format!("no list: {value}"))?;
        items.iter().map(T::hear).collect()
    }
}

/// Tagged fields that a message does not know.
impl Spoken for BTreeMap<i32, Bytes> {
    fn speak(&self) -> Value {
        let tag = |(number, data): (&i32, &Bytes)| json!({"number": *number as u32, "data": hex(data)});
        self.iter().map(tag).collect()
    }

    fn hear(value: &Value) -> Result<Self, Wrong> {
        let items = value.as_array().ok_or_else(|| format!("no list: {value}"))?;
        let tag = |item: &Value| Ok((u32::hear(&item["number"])? as i32, unhex(&item["data"])?));
        items.iter().map(tag).collect()
    }
}

/// The records that a client gets: those of control batches are none.
fn rows(data: &mut Bytes, one: bool) -> Result<Value, Wrong> {
    let sets = if one {
        RecordBatchDecoder::decode(data).map(|set| vec![set])
    } else {
        RecordBatchDecoder::decode_all(data)
    };
    let sets = sets.map_err(|error| error.to_string())?;
    let records = sets.iter().flat_map(|set| &set.records).filter(|record| !record.control);
    Ok(records
        .map(|record| {
            let headers: Value = record.headers.iter().map(|(key, value)| json!([key.speak(), value.speak()])).collect();
            json!({
                "offset": record.offset, "timestamp": record.timestamp, "headers": headers,
                "key": record.key.speak(), "value": record.value.speak(),
            })
        })
        .collect())
}

fn answer(request: &Value) -> Result<Value, Wrong> {
    let codecs = messages::codecs();
    if request["do"] == "hello" {
        let types: Map<String, Value> = codecs.iter().map(|codec| (codec.name.to_owned(), (codec.fresh)())).collect();
        return Ok(json!({"version": messages::VERSION, "types": types}));
    }
    let codec = || codecs.iter().find(|codec| request["type"] == codec.name).ok_or("no such type");
    let version = Option::<i16>::hear(&request["version"])?;
    if request["do"] == "encode" {
        let data = (codec()?.encode)(&request["value"], version)?;
        return Ok(json!({"bytes": hex(&data)}));
    }
    let mut data = unhex(&request["bytes"])?;
    let found = if request["do"] == "rows" {
        json!({"rows": rows(&mut data, request["one"] == true)?})
    } else {
        json!({"value": (codec()?.decode)(&mut data, version)?})
    };
    if request["exact"] == true && !data.is_empty() {
        return Err(format!("{} bytes are left over", data.len()));
    }
    Ok(found)
}

fn main() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.expect("a line of UTF-8")).expect("JSON");
        let mut found = std::panic::catch_unwind(|| answer(&request))
            .unwrap_or_else(|_| Err("panic".to_owned()))
            .unwrap_or_else(|reason| match &reason[..] {
                // the formats before record batches
                lacks if lacks.starts_with("message sets") => json!({"unsupported": lacks}),
                _ => json!({"error": reason}),
            });
        found["id"] = request["id"].clone();
        writeln!(out, "{found}").and_then(|()| out.flush()).expect("a reader");
    }
}
