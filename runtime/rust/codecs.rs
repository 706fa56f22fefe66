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
        "lz4" => unlz4(data, limit),
        #[cfg(feature = "lz4")]
        "lz4_legacy" => with_header_checksum(data).and_then(|data| unlz4(&data, limit)),
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

/// Consecutive members, as Java reads them: bytes that do not start a member end the data.
#[cfg(feature = "gzip")]
fn gunzip(mut data: &[u8], limit: usize) -> std::result::Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    loop {
        let mut member = flate2::bufread::GzDecoder::new(data);
        bounded(&mut member, &mut out, limit)?;
        data = member.into_inner();
        if data.len() < 10 || !data.starts_with(&[0x1f, 0x8b, 8]) {
            return Ok(out);
        }
    }
}

/// The first frame.
#[cfg(feature = "lz4")]
fn unlz4(data: &[u8], limit: usize) -> std::result::Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    bounded(lz4_flex::frame::FrameDecoder::new(data), &mut out, limit)?;
    Ok(out)
}

/// The position of the header checksum of an LZ4 frame.
#[cfg(feature = "lz4")]
fn header_checksum_at(data: &[u8]) -> usize {
    data.get(4)
        .map_or(6, |flags| if flags & 8 == 0 { 6 } else { 14 })
}

/// A frame inside a message of magic 0, whose header checksum covers the magic number too (KIP-57), put right.
#[cfg(feature = "lz4")]
fn with_header_checksum(data: &[u8]) -> std::result::Result<Vec<u8>, Problem> {
    let at = header_checksum_at(data);
    let Some(descriptor) = data.get(4..at).filter(|_| data.len() > at) else {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    };
    let mut found = data.to_vec();
    found[at] = (twox_hash::XxHash32::oneshot(0, descriptor) >> 8) as u8;
    Ok(found)
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
    let mut out = Vec::new();
    if data.len() < 16 || !data.starts_with(XERIAL) {
        unsnap_block(&mut out, data, limit)?;
        return Ok(out);
    }
    let mut rest = &data[16..];
    // as in Java, 1 to 3 bytes after the last block are ignored, and headers may repeat
    while let Some((head, behind)) = rest.split_first_chunk::<4>() {
        if rest.len() >= 16 && rest.starts_with(XERIAL) {
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
            found[at] = (twox_hash::XxHash32::oneshot(0, &found[..at]) >> 8) as u8;
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
