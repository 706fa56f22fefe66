//! A testee: a request a line, an answer a line, as the protocol of testees has them. What the schemas
//! bring is in `types.rs`, which is printed from their plan.

mod types;

use formats::{Arena, Error, Fact, Options, RawTag, Text, Uuid};
use serde_json::{json, Map, Value};
use std::io::{BufRead, Write};

/// What a type does with bytes or with a value.
pub struct Codec {
    pub name: &'static str,
    pub decode: for<'a> fn(&'a [u8], i16, &'a Arena, Options) -> Result<Decoded, Error>,
    pub encode: for<'a> fn(&'a Value, i16, &'a Arena) -> Result<Written, Wrong>,
}

/// What a type of a streamed schema is read as, with instances in so many instances, and its size.
pub struct Reader {
    pub name: &'static str,
    pub read: fn(&[u8], Options, i32) -> Result<(Value, usize), Error>,
}

pub type Written = Result<Vec<u8>, Error>;

/// A value, how many bytes it takes, and what it is written as.
pub struct Decoded {
    value: Value,
    size: usize,
    written: Written,
}

pub fn decoded<'a, T: Spoken<'a>>(
    found: Result<(T, usize), Error>,
    write: impl Fn(&T, &mut Vec<u8>) -> Result<(), Error>,
) -> Result<Decoded, Error> {
    let (value, size) = found?;
    let mut out = Vec::new();
    let written = write(&value, &mut out).map(|()| out);
    Ok(Decoded {
        value: value.speak(),
        size,
        written,
    })
}

pub fn encoded<'a, T: Spoken<'a>>(
    value: &'a Value,
    arena: &'a Arena,
    write: impl Fn(&T, &mut Vec<u8>) -> Result<(), Error>,
) -> Result<Written, Wrong> {
    let value = T::hear(value, arena)?;
    let mut out = Vec::new();
    Ok(write(&value, &mut out).map(|()| out))
}

/// Why no value of the type can be this: the adapter's own words, so that it has no path.
pub type Wrong = String;

/// A value as JSON and back.
pub trait Spoken<'a>: Sized {
    fn speak(&self) -> Value;
    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong>;
}

/// A member of an object, or what `into` has if there is none.
pub fn hear_into<'a, T: Spoken<'a>>(
    into: &mut T,
    object: &'a Map<String, Value>,
    name: &str,
    arena: &'a Arena,
) -> Result<(), Wrong> {
    if let Some(value) = object.get(name) {
        *into = T::hear(value, arena)?;
    }
    Ok(())
}

pub fn object(value: &Value) -> Result<&Map<String, Value>, Wrong> {
    value
        .as_object()
        .ok_or_else(|| format!("no object: {value}"))
}

/// Whether a value can be an object with these members.
pub fn is_of(value: &Value, names: &[&str]) -> bool {
    value
        .as_object()
        .is_some_and(|found| found.keys().all(|name| names.contains(&&name[..])))
}

const EXACT: i128 = (1 << 53) - 1;

macro_rules! whole {
    ($($kind:ty)*) => {$(
        impl Spoken<'_> for $kind {
            fn speak(&self) -> Value {
                let number = i128::from(*self);
                if (-EXACT..=EXACT).contains(&number) {
                    json!(self)
                } else {
                    Value::String(number.to_string())
                }
            }

            fn hear(value: &Value, _: &Arena) -> Result<Self, Wrong> {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.parse().map_err(|error| format!("{text}: {error}"))
            }
        }
    )*};
}

whole!(u8 i8 u16 i16 u32 i32 u64 i64);

impl Spoken<'_> for bool {
    fn speak(&self) -> Value {
        json!(self)
    }

    fn hear(value: &Value, _: &Arena) -> Result<Self, Wrong> {
        value
            .as_bool()
            .ok_or_else(|| format!("no flag: {value}"))
    }
}

impl Spoken<'_> for f64 {
    fn speak(&self) -> Value {
        if self.is_nan() {
            json!("nan")
        } else if self.is_infinite() {
            json!(if *self > 0.0 { "inf" } else { "-inf" })
        } else {
            json!(self)
        }
    }

    fn hear(value: &Value, _: &Arena) -> Result<Self, Wrong> {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        text.parse()
            .map_err(|error| format!("{text}: {error}"))
    }
}

impl Spoken<'_> for f32 {
    fn speak(&self) -> Value {
        f64::from(*self).speak()
    }

    fn hear(value: &Value, arena: &Arena) -> Result<Self, Wrong> {
        f64::hear(value, arena).map(|number| number as Self)
    }
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<Vec<u8>, Wrong> {
    let digits = text.as_bytes();
    let pair = |two: &[u8]| {
        std::str::from_utf8(two)
            .ok()
            .and_then(|two| u8::from_str_radix(two, 16).ok())
    };
    let found = digits
        .chunks(2)
        .filter(|two| two.len() == 2)
        .map(pair)
        .collect::<Option<Vec<u8>>>();
    found
        .filter(|_| digits.len() % 2 == 0)
        .ok_or_else(|| format!("no hexadecimal: {text}"))
}

impl<'a> Spoken<'a> for &'a [u8] {
    fn speak(&self) -> Value {
        Value::String(hex(self))
    }

    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong> {
        let text = value
            .as_str()
            .ok_or_else(|| format!("no bytes: {value}"))?;
        unhex(text).map(|data| arena.keep(data))
    }
}

impl<'a> Spoken<'a> for Text<'a> {
    fn speak(&self) -> Value {
        self.to_str()
            .map_or_else(|_| json!({"raw": hex(self.as_bytes())}), |text| json!(text))
    }

    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong> {
        match value.get("raw") {
            Some(raw) => <&[u8]>::hear(raw, arena).map(Text),
            None => value
                .as_str()
                .map(Text::from)
                .ok_or_else(|| format!("no text: {value}")),
        }
    }
}

impl Spoken<'_> for Uuid {
    fn speak(&self) -> Value {
        Value::String(self.to_string())
    }

    fn hear(value: &Value, _: &Arena) -> Result<Self, Wrong> {
        let text = value.as_str().unwrap_or_default().replace('-', "");
        unhex(&text)?
            .try_into()
            .map(Uuid)
            .map_err(|_| format!("no UUID: {value}"))
    }
}

impl<'a> Spoken<'a> for RawTag<'a> {
    fn speak(&self) -> Value {
        json!({"number": self.number, "data": hex(self.data)})
    }

    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong> {
        let mut found = Self {
            number: 0,
            data: &[],
        };
        hear_into(&mut found.number, object(value)?, "number", arena)?;
        hear_into(&mut found.data, object(value)?, "data", arena)?;
        Ok(found)
    }
}

impl<'a, T: Spoken<'a>> Spoken<'a> for Option<T> {
    fn speak(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::speak)
    }

    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong> {
        if value.is_null() {
            Ok(None)
        } else {
            T::hear(value, arena).map(Some)
        }
    }
}

impl<'a, T: Spoken<'a>> Spoken<'a> for Vec<T> {
    fn speak(&self) -> Value {
        self.iter().map(T::speak).collect()
    }

    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong> {
        let items = value
            .as_array()
            .ok_or_else(|| format!("no list: {value}"))?;
        items.iter().map(|item| T::hear(item, arena)).collect()
    }
}

impl<'a, T: Spoken<'a>> Spoken<'a> for Box<T> {
    fn speak(&self) -> Value {
        T::speak(self)
    }

    fn hear(value: &'a Value, arena: &'a Arena) -> Result<Self, Wrong> {
        T::hear(value, arena).map(Self::new)
    }
}

fn fact(fact: &Fact) -> Value {
    match fact {
        Fact::Number(number) => {
            i64::try_from(*number).map_or_else(|_| json!(number.to_string()), |n| json!(n))
        }
        Fact::Text(text) => json!(text),
    }
}

fn problem(error: &Error) -> Value {
    let mut found = json!({"code": error.code().as_str(), "path": error.path()});
    let facts = [
        ("at", error.at().map(|at| json!(at))),
        ("need", error.needed().map(fact)),
        ("have", error.found().map(fact)),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            found[name] = value;
        }
    }
    found
}

pub fn failed(error: &Error) -> Value {
    json!({"error": problem(error)})
}

fn answer(request: &Value) -> Result<Value, String> {
    let text = |name: &str| request[name].as_str().ok_or_else(|| format!("no {name}"));
    if text("do")? == "hello" {
        let reads: Vec<&str> = types::READERS.iter().map(|reader| reader.name).collect();
        let written = types::CODECS.iter().map(|codec| codec.name);
        let types: Vec<&str> = written.chain(reads.iter().copied()).collect();
        let does = ["decode", "encode", "round_trip"];
        return Ok(json!({
            "protocol": 1, "name": "kodec-rust", "language": "Rust", "version": env!("RUSTC_VERSION"),
            "does": does, "types": types, "reads": reads,
        }));
    }
    let name = text("type")?;
    if let Some(reader) = types::READERS.iter().find(|reader| reader.name == name) {
        return read(reader, request);
    }
    let Some(codec) = types::CODECS.iter().find(|codec| codec.name == name) else {
        return Ok(json!({"unsupported": format!("no type {name}")}));
    };
    let version = request["version"].as_i64().unwrap_or(0);
    let Ok(version) = i16::try_from(version) else {
        return Ok(json!({"unsupported": format!("no version {version}")}));
    };
    let arena = Arena::new();
    if text("do")? == "encode" {
        return Ok(match (codec.encode)(&request["value"], version, &arena) {
            Ok(Ok(data)) => json!({"bytes": hex(&data)}),
            Ok(Err(error)) => json!({"error": problem(&error)}),
            // what no value of Rust can be
            Err(reason) => json!({"error": {"code": "not_encodable", "have": reason}}),
        });
    }
    let data = unhex(text("bytes")?)?;
    let mut options = Options::default();
    if let Some(limit) = request["limit"].as_u64() {
        options.max_decompressed = limit as usize;
    }
    if let Some(most) = request["elements"].as_u64() {
        options.max_elements = most as usize;
    }
    let found = match (codec.decode)(&data, version, &arena, options) {
        Ok(found) => found,
        Err(error) => return Ok(json!({"error": problem(&error)})),
    };
    if request["exact"] == true && found.size < data.len() {
        let error = json!({"code": "malformed", "path": "", "at": found.size, "need": 0, "have": data.len() - found.size});
        return Ok(json!({"error": error}));
    }
    Ok(match (text("do")?, found.written) {
        ("decode", _) => json!({"value": found.value}),
        ("round_trip", Ok(data)) => json!({"value": found.value, "bytes": hex(&data)}),
        ("round_trip", Err(error)) => {
            json!({"value": found.value, "encode_error": problem(&error)})
        }
        (other, _) => json!({"unsupported": format!("cannot {other}")}),
    })
}

/// The answer to a request about a streamed type.
fn read(reader: &Reader, request: &Value) -> Result<Value, String> {
    let mut options = Options::default();
    for (name, limit) in [
        ("limit", &mut options.max_decompressed),
        ("elements", &mut options.max_elements),
        ("depth", &mut options.max_depth),
    ] {
        if let Some(found) = request[name].as_u64() {
            *limit = found as usize;
        }
    }
    if request["do"] == "encode" {
        return Err("streamed types are only read".to_owned());
    }
    let data = unhex(request["bytes"].as_str().ok_or("no bytes")?)?;
    let deep = if request["instances"] == true { 4 } else { 0 };
    Ok(match (reader.read)(&data, options, deep) {
        Err(error) => failed(&error),
        Ok((_, size)) if request["exact"] == true && size != data.len() => {
            json!({"error": {"code": "malformed", "path": "", "at": size}})
        }
        Ok((value, _)) => json!({"value": value}),
    })
}

fn main() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.expect("a line of UTF-8")).expect("JSON");
        let mut found = answer(&request).unwrap_or_else(|reason| json!({"unsupported": reason}));
        found["id"] = request["id"].clone();
        writeln!(out, "{found}")
            .and_then(|()| out.flush())
            .expect("a reader");
    }
}
