//! Prints every record of log segments as a line of JSON.

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use formats::{
    Arena, LogSegmentEntry, LogSegmentEntryBody, MessageSetEntry, MessageSetMessageValue,
    MessageSetTimestampType, Options, RecordBatch, RecordBatchTimestampType,
};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(io::stdout().lock());
    for path in std::env::args_os().skip(1) {
        dump(&std::fs::read(path)?, &mut out)?;
    }
    Ok(out.flush()?)
}

fn dump(data: &[u8], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut pos = 0;
    while pos < data.len() {
        let rest = &data[pos..];
        if is_torn(rest) {
            eprintln!("torn tail: {} bytes at byte {pos}", rest.len());
            return Ok(());
        }
        // what was decompressed lives as long as the entry
        let arena = Arena::new();
        let (entry, size) = LogSegmentEntry::read(rest, &arena, Options::default())
            .map_err(|error| format!("entry at byte {pos}: {error}"))?;
        match entry.body {
            LogSegmentEntryBody::RecordBatch(batch) => show_batch(&batch, out)?,
            LogSegmentEntryBody::MessageSetEntry(entry) => show_message(&entry, out)?,
            LogSegmentEntryBody::Bytes(_) => {
                let magic = rest[16] as i8;
                return Err(format!("entry at byte {pos}: unknown magic {magic}").into());
            }
        }
        pos += size;
    }
    Ok(())
}

/// Whether a part of an entry, or zeros, are all that is left.
fn is_torn(rest: &[u8]) -> bool {
    let size = |four: &[u8]| {
        four.iter()
            .fold(0, |size, byte| size << 8 | u64::from(*byte))
    };
    rest.len() < 17
        || 12 + size(&rest[8..12]) > rest.len() as u64
        || rest.iter().all(|byte| *byte == 0)
}

fn show_batch(batch: &RecordBatch, out: &mut impl Write) -> io::Result<()> {
    let appended = batch.attributes.timestamp_type == RecordBatchTimestampType::LOG_APPEND_TIME;
    let stamp = batch.max_timestamp.filter(|_| appended);
    for record in &batch.records {
        let body = &record.body;
        let at = stamp.unwrap_or(batch.base_timestamp.wrapping_add(body.timestamp_delta));
        let offset = batch.base_offset.wrapping_add(body.offset_delta.into());
        show(
            out,
            offset,
            Some(at),
            batch.attributes.is_control,
            body.key,
            body.value,
        )?;
    }
    Ok(())
}

fn show_message(entry: &MessageSetEntry, out: &mut impl Write) -> io::Result<()> {
    let outer = &entry.message;
    let stamped = |magic, at| (magic != 0).then_some(at);
    let inner = match &outer.value {
        Some(MessageSetMessageValue::MessageSet(inner)) => &inner.entries,
        Some(MessageSetMessageValue::Bytes(value)) => {
            let at = stamped(outer.magic, outer.timestamp);
            return show(out, entry.offset, at, false, outer.key, Some(value));
        }
        None => {
            let at = stamped(outer.magic, outer.timestamp);
            return show(out, entry.offset, at, false, outer.key, None);
        }
    };
    // in magic 1 the offsets inside count from 0, and the wrapper has that of the last one
    let last = inner.last().map_or(0, |each| each.offset);
    let is_relative = outer.magic != 0 && entry.offset != 0;
    let base = if is_relative {
        entry.offset.wrapping_sub(last)
    } else {
        0
    };
    let appended = outer.attributes.timestamp_type == MessageSetTimestampType::LOG_APPEND_TIME;
    for each in inner {
        let message = &each.message;
        let at = if appended {
            outer.timestamp
        } else {
            message.timestamp
        };
        let value = match message.value {
            Some(MessageSetMessageValue::Bytes(value)) => Some(value),
            _ => None,
        };
        let offset = base.wrapping_add(each.offset);
        show(
            out,
            offset,
            stamped(message.magic, at),
            false,
            message.key,
            value,
        )?;
    }
    Ok(())
}

fn show(
    out: &mut impl Write,
    offset: i64,
    at: Option<i64>,
    control: bool,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> io::Result<()> {
    let at = at.map_or("null".to_owned(), |at| at.to_string());
    let (key, value) = (text(key), text(value));
    writeln!(
        out,
        r#"{{"offset": {offset}, "timestamp": {at}, "control": {control}, "key": {key}, "value": {value}}}"#
    )
}

fn text(data: Option<&[u8]>) -> String {
    let Some(data) = data else {
        return "null".to_owned();
    };
    let digits: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}
