//! Compressed content; decompression is bounded before anything is allocated.

use crate::runtime::{not_encodable, size, Code, Error, Reader, Result};
use std::io::{self, Read};

impl<'a> Reader<'a> {
    /// A reader of decompressed bytes.
    pub(crate) fn unpacked(
        &mut self,
        name: &str,
        codec: &str,
        stored: &'a [u8],
        at: usize,
    ) -> Result<Self> {
        let compressed = codec != "none";
        let buf = if compressed {
            if self.compressed {
                let error = Error::new(Code::Malformed, name, at);
                return Err(error.because(&format!("{codec} data inside compressed data")));
            }
            let data =
                decompress(codec, stored, self.budget, at).map_err(|error| error.within(name))?;
            self.budget -= data.len();
            let Some(arena) = self.arena else {
                return Err(
                    Error::new(Code::Unsupported, name, at).because("nothing to decompress into")
                );
            };
            arena.keep(data)
        } else {
            stored
        };
        Ok(Reader {
            buf,
            pos: 0,
            options: self.options,
            arena: self.arena,
            compressed: self.compressed || compressed,
            budget: self.budget,
        })
    }
}

enum Problem {
    Io(io::Error),
    Other(Code, &'static str),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

const TOO_LARGE: Problem = Problem::Other(Code::LimitExceeded, "decompresses to more than allowed");

fn decompress(codec: &str, data: &[u8], limit: usize, at: usize) -> Result<Vec<u8>> {
    let found = match codec {
        _ if data.is_empty() => Err(Problem::Other(Code::Truncated, "the payload is empty")),
        #[cfg(feature = "gzip")]
        "gzip" => gunzip(data, limit),
        #[cfg(feature = "lz4")]
        "lz4" => unlz4(data, limit, true),
        #[cfg(feature = "lz4")]
        "lz4_legacy" => unlz4(data, limit, false),
        #[cfg(feature = "snappy")]
        "snappy" => unsnap(data, limit),
        #[cfg(feature = "zstd")]
        "zstd" => unzstd(data, limit),
        _ => Err(Problem::Other(
            Code::Unsupported,
            "codec is not part of this build",
        )),
    };
    found.map_err(|problem| match problem {
        Problem::Io(error) => {
            let code = match error.kind() {
                io::ErrorKind::UnexpectedEof => Code::Truncated,
                _ => Code::Malformed,
            };
            Error::new(code, "", at).because(&format!("{codec}: {error}"))
        }
        Problem::Other(code, reason) => {
            let error = Error::new(code, "", at).because(&format!("{codec}: {reason}"));
            if code == Code::LimitExceeded {
                error.need(limit as i128 + 1).have(size(limit))
            } else {
                error
            }
        }
    })
}

/// Appends all bytes to `out`, up to the limit.
fn bounded(from: impl Read, out: &mut Vec<u8>, limit: usize) -> std::result::Result<(), Problem> {
    let left = (limit - out.len()) as u64;
    from.take(left.saturating_add(1)).read_to_end(out)?;
    if out.len() > limit {
        return Err(TOO_LARGE);
    }
    Ok(())
}

/// Consecutive members; as in Java, bytes that are not the whole header of a member end the data.
#[cfg(feature = "gzip")]
fn gunzip(mut data: &[u8], limit: usize) -> std::result::Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    let mut member = flate2::bufread::GzDecoder::new(data);
    loop {
        bounded(&mut member, &mut out, limit)?;
        data = member.into_inner();
        member = flate2::bufread::GzDecoder::new(data);
        if member.header().is_none() {
            return Ok(out);
        }
    }
}

#[cfg(feature = "lz4")]
const LZ4_STORED: u32 = 1 << 31;

/// The first frame, of independent blocks, as Kafka reads it: the checksums of the header, unless it is one of
/// magic 0, and of blocks are verified, those of the content and its size are not. What follows is ignored.
#[cfg(feature = "lz4")]
fn unlz4(data: &[u8], limit: usize, checked: bool) -> std::result::Result<Vec<u8>, Problem> {
    let wrong = |reason| Err(Problem::Other(Code::Malformed, reason));
    let cut = || Problem::Other(Code::Truncated, "the frame is cut off");
    let word = |at: usize| {
        let bytes = data.get(at..).and_then(|rest| rest.first_chunk::<4>());
        bytes
            .map(|found| u32::from_le_bytes(*found))
            .ok_or_else(cut)
    };
    if word(0)? != 0x184D_2204 {
        return wrong("not a frame");
    }
    let (flags, descriptor) = (*data.get(4).ok_or_else(cut)?, *data.get(5).ok_or_else(cut)?);
    if flags >> 6 != 1 || flags & 0x21 != 0x20 {
        let reason = "a frame of another version, with dependent blocks or a dictionary";
        return Err(Problem::Other(Code::Unsupported, reason));
    }
    if flags & 2 != 0 || descriptor & 0x8F != 0 || descriptor < 0x40 {
        return wrong("reserved bits, or the size of blocks");
    }
    let mut at = header_checksum_at(data);
    let checksum = *data.get(at).ok_or_else(cut)?;
    if checked && checksum != lz4_checksum(&data[4..at]) {
        return wrong("checksum of the frame's header");
    }
    at += 1;
    let most = 1_usize << (8 + 2 * (descriptor >> 4));
    let behind = if flags & 0x10 == 0 { 0 } else { 4 };
    let mut out = Vec::new();
    loop {
        let head = word(at)?;
        let size = (head & !LZ4_STORED) as usize;
        at += 4;
        if size == 0 {
            break;
        }
        if size > most {
            return wrong("size of a block");
        }
        let block = data.get(at..at + size).ok_or_else(cut)?;
        at += size;
        if behind > 0 && twox_hash::XxHash32::oneshot(0, block) != word(at)? {
            return wrong("checksum of a block");
        }
        at += behind;
        let start = out.len();
        if head & LZ4_STORED == 0 {
            out.resize(start + most.min(255 * size), 0);
            let made = lz4_flex::block::decompress_into(block, &mut out[start..]);
            out.truncate(start + made.map_err(|error| Problem::Io(io::Error::other(error)))?);
        } else {
            out.extend_from_slice(block);
        }
        if out.len() > limit {
            return Err(TOO_LARGE);
        }
    }
    if flags & 4 != 0 {
        word(at)?;
    }
    Ok(out)
}

#[cfg(feature = "lz4")]
fn lz4_checksum(bytes: &[u8]) -> u8 {
    (twox_hash::XxHash32::oneshot(0, bytes) >> 8) as u8
}

/// The position of the header checksum of an LZ4 frame.
#[cfg(feature = "lz4")]
fn header_checksum_at(data: &[u8]) -> usize {
    data.get(4)
        .map_or(6, |flags| if flags & 8 == 0 { 6 } else { 14 })
}

#[cfg(feature = "zstd")]
fn unzstd(data: &[u8], limit: usize) -> std::result::Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    let mut from = zstd::stream::read::Decoder::with_buffer(data)?;
    from.window_log_max(27)?;
    bounded(from, &mut out, limit)?;
    Ok(out)
}

#[cfg(feature = "snappy")]
const XERIAL: &[u8; 8] = b"\x82SNAPPY\0";

/// The blocks of xerial's frame, or one raw block.
#[cfg(feature = "snappy")]
fn unsnap(data: &[u8], limit: usize) -> std::result::Result<Vec<u8>, Problem> {
    if data.starts_with(b"\xff\x06\0\0sNaPpY") {
        let reason = "the official framing format";
        return Err(Problem::Other(Code::Unsupported, reason));
    }
    let mut out = Vec::new();
    if data.len() < 16 || !data.starts_with(XERIAL) {
        unsnap_block(&mut out, data, limit)?;
        return Ok(out);
    }
    let mut rest = &data[16..];
    // as in Java, 1 to 3 bytes after the last block are ignored, and headers may repeat
    while let Some((head, behind)) = rest.split_first_chunk::<4>() {
        if head[..] == XERIAL[..4] {
            match rest.get(8..12) {
                Some(version) if rest.len() >= 16 && rest.starts_with(XERIAL) => {
                    if version[0] >= 0x80 || version == [0; 4] {
                        let reason = "version of a repeated header";
                        return Err(Problem::Other(Code::Unsupported, reason));
                    }
                }
                Some(_) if rest.len() >= 16 => {
                    return Err(Problem::Other(Code::Malformed, "repeated header"))
                }
                _ => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            }
            rest = &rest[16..];
            continue;
        }
        let Ok(need) = usize::try_from(i32::from_be_bytes(*head)) else {
            return Err(Problem::Other(Code::Malformed, "negative chunk length"));
        };
        let Some((block, behind)) = behind.split_at_checked(need) else {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        };
        unsnap_block(&mut out, block, limit)?;
        rest = behind;
    }
    Ok(out)
}

#[cfg(feature = "snappy")]
fn unsnap_block(out: &mut Vec<u8>, block: &[u8], limit: usize) -> std::result::Result<(), Problem> {
    let wrong = |error: snap::Error| Problem::Io(error.into());
    let promised = snap::raw::decompress_len(block).map_err(wrong)?;
    // three bytes decompress to at most 64
    if promised > block.len() * 22 {
        return Err(Problem::Other(
            Code::Malformed,
            "size in front of the block",
        ));
    }
    if promised > limit - out.len() {
        return Err(TOO_LARGE);
    }
    let start = out.len();
    out.resize(start + promised, 0);
    snap::raw::Decoder::new()
        .decompress(block, &mut out[start..])
        .map_err(wrong)?;
    Ok(())
}

pub(crate) fn compress(codec: &str, data: Vec<u8>) -> Result<Vec<u8>> {
    let found: io::Result<Vec<u8>> = match codec {
        "none" => Ok(data),
        #[cfg(feature = "gzip")]
        "gzip" => {
            let level = flate2::Compression::default();
            let mut out = Vec::new();
            let mut from = flate2::bufread::GzEncoder::new(&data[..], level);
            from.read_to_end(&mut out).map(|_| out)
        }
        #[cfg(feature = "lz4")]
        "lz4" => lz4(&data),
        #[cfg(feature = "lz4")]
        "lz4_legacy" => lz4(&data).map(|mut found| {
            let at = header_checksum_at(&found);
            found[at] = lz4_checksum(&found[..at]);
            found
        }),
        #[cfg(feature = "snappy")]
        "snappy" => snap(&data),
        #[cfg(feature = "zstd")]
        "zstd" => zstd::stream::encode_all(&data[..], 0),
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "unknown codec")),
    };
    found.map_err(|error| not_encodable("", &format!("{codec}: {error}")))
}

/// Independent blocks of 64 KiB without sizes or checksums, as Java clients write them.
#[cfg(feature = "lz4")]
fn lz4(data: &[u8]) -> io::Result<Vec<u8>> {
    let form = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut to = lz4_flex::frame::FrameEncoder::with_frame_info(form, Vec::new());
    io::Write::write_all(&mut to, data)?;
    Ok(to.finish()?)
}

/// xerial's blocks of 32 KiB, as Java clients write them.
#[cfg(feature = "snappy")]
fn snap(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = XERIAL.to_vec();
    out.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1]);
    for each in data.chunks(32 << 10) {
        let block = snap::raw::Encoder::new().compress_vec(each)?;
        out.extend_from_slice(&(block.len() as u32).to_be_bytes());
        out.extend_from_slice(&block);
    }
    Ok(out)
}
