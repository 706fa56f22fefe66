//! The runtime of generated readers and writers: bytes with a position, numbers, errors, limits.

use std::cell::{Cell, OnceCell};
use std::fmt;

/// Kinds of errors of bytes, or of values to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The bytes end before the field does.
    Truncated,
    /// The bytes do not match the format.
    Malformed,
    /// A checksum is not that of the bytes it covers.
    BadChecksum,
    /// A version, a codec or a case that is not known.
    Unsupported,
    /// More elements or more decompressed bytes than [`Options`] allow.
    LimitExceeded,
    /// The value cannot be written.
    NotEncodable,
}

impl Code {
    /// The word for it, the same in every language.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::BadChecksum => "bad_checksum",
            Self::Unsupported => "unsupported",
            Self::LimitExceeded => "limit_exceeded",
            Self::NotEncodable => "not_encodable",
        }
    }
}

/// What was needed or found, in an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A number, or a number of bytes or elements.
    Number(i128),
    /// Any other value, as text.
    Text(String),
}

impl<T: Into<i128>> From<T> for Fact {
    fn from(number: T) -> Self {
        Self::Number(number.into())
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A value in the words of `Debug`.
pub(crate) fn shown<T: fmt::Debug + ?Sized>(value: &T) -> Fact {
    Fact::Text(format!("{value:?}"))
}

/// What a schema requires.
pub(crate) fn words(text: &str) -> Fact {
    Fact::Text(text.to_owned())
}

/// A size as a fact.
pub(crate) fn size(number: usize) -> Fact {
    Fact::Number(number as i128)
}

#[derive(Clone, Debug)]
struct Details {
    code: Code,
    path: String,
    reason: String,
    at: Option<usize>,
    need: Option<Fact>,
    have: Option<Fact>,
    inside: Option<&'static str>,
}

/// An error: its kind, field and byte, what was needed and what was found.
#[derive(Clone, Debug)]
pub struct Error(Box<Details>);

/// The result of reading or writing.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    #[cold]
    pub(crate) fn new(code: Code, path: &str, at: usize) -> Self {
        Self(Box::new(Details {
            code,
            path: path.to_owned(),
            reason: String::new(),
            at: Some(at),
            need: None,
            have: None,
            inside: None,
        }))
    }

    #[cold]
    pub(crate) fn because(mut self, reason: &str) -> Self {
        reason.clone_into(&mut self.0.reason);
        self
    }

    #[cold]
    pub(crate) fn need(mut self, need: impl Into<Fact>) -> Self {
        self.0.need = Some(need.into());
        self
    }

    #[cold]
    pub(crate) fn have(mut self, have: impl Into<Fact>) -> Self {
        self.0.have = Some(have.into());
        self
    }

    /// The kind of the error.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The field, such as `records[3].value`; empty for the whole value.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The byte from the start of the input; in decompressed bytes that of the compressed ones. None for a value.
    pub fn at(&self) -> Option<usize> {
        self.0.at
    }

    /// What was needed.
    pub fn needed(&self) -> Option<&Fact> {
        self.0.need.as_ref()
    }

    /// What was found.
    pub fn found(&self) -> Option<&Fact> {
        self.0.have.as_ref()
    }

    /// The codec in whose decompressed bytes the field is.
    pub fn inside(&self) -> Option<&'static str> {
        self.0.inside
    }

    /// Puts the name of a field in front of the path.
    #[cold]
    pub(crate) fn within(mut self, name: &str) -> Self {
        let path = &mut self.0.path;
        if !path.is_empty() && !path.starts_with('[') && !name.is_empty() {
            path.insert(0, '.');
        }
        path.insert_str(0, name);
        self
    }

    /// Puts an element of a list in front of the path.
    #[cold]
    pub(crate) fn within_item(self, name: &str, index: usize) -> Self {
        self.within(&format!("{name}[{index}]"))
    }

    /// As an error of the field that contains the content, which starts at `at`.
    #[cold]
    pub(crate) fn outside(mut self, name: &str, codec: &'static str, at: usize) -> Self {
        if codec == "none" {
            self.0.at = self.0.at.map(|inner| inner + at);
        } else {
            self.0.at = Some(at);
            self.0.inside = Some(codec);
        }
        self.within(name)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = &self.0;
        if !error.path.is_empty() {
            write!(f, "{}: ", error.path)?;
        }
        f.write_str(&error.code.as_str().replace('_', " "))?;
        if !error.reason.is_empty() {
            write!(f, ": {}", error.reason)?;
        }
        if let Some(need) = &error.need {
            write!(f, ": need {need}")?;
        }
        if let Some(have) = &error.have {
            write!(f, ", have {have}")?;
        }
        error.at.map_or(Ok(()), |at| write!(f, ", at byte {at}"))
    }
}

impl std::error::Error for Error {}

/// How strict a reader is, and how much it may allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether checksums are compared.
    pub check_checksums: bool,
    /// Whether fields derived from the last or largest element of a list are verified.
    pub check_derived: bool,
    /// The most elements of one list.
    pub max_elements: usize,
    /// The most bytes that the compressed fields of one input may become together. In a streamed schema, the most
    /// that each process may return, and that its expressions may make together.
    pub max_decompressed: usize,
    /// How deep objects and instances of streamed schemas may nest.
    pub max_depth: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            check_checksums: true,
            check_derived: true,
            max_elements: 4_000_000,
            max_decompressed: 256 << 20,
            max_depth: 100,
        }
    }
}

type Row<T> = Box<[OnceCell<T>]>;
const MOST_ROWS: usize = usize::BITS as usize;

/// Values of one type, which never move.
#[derive(Debug)]
pub(crate) struct Rows<T> {
    count: Cell<usize>,
    // row n has 2^n places
    rows: OnceCell<Row<Row<T>>>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self {
            count: Cell::new(0),
            rows: OnceCell::new(),
        }
    }
}

impl<T> Rows<T> {
    /// Keeps a value.
    pub fn add(&self, value: T) -> &T {
        let number = self.count.get() + 1;
        self.count.set(number);
        let row = number.ilog2() as usize;
        let rows = self.rows.get_or_init(|| places(MOST_ROWS));
        let row_places = rows[row].get_or_init(|| places(1 << row));
        row_places[number - (1 << row)].get_or_init(|| value)
    }
}

fn places<T>(count: usize) -> Row<T> {
    (0..count).map(|_| OnceCell::new()).collect()
}

/// Keeps decompressed bytes as long as values borrow from them.
#[derive(Debug, Default)]
pub struct Arena(Rows<Vec<u8>>);

impl Arena {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all that it keeps.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Keeps bytes.
    pub fn keep(&self, data: Vec<u8>) -> &[u8] {
        self.0.add(data)
    }
}

/// Text as stored: it should be UTF-8; invalid bytes are kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Text<'a> {
    /// The bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The text, if it is valid UTF-8.
    pub fn to_str(self) -> std::result::Result<&'a str, std::str::Utf8Error> {
        std::str::from_utf8(self.0)
    }

    /// The text, with U+FFFD in place of invalid UTF-8.
    pub fn to_string_lossy(self) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The number of bytes.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// The number of characters; an invalid byte counts as one.
    pub(crate) fn characters(self) -> usize {
        self.0
            .utf8_chunks()
            .map(|chunk| chunk.valid().chars().count() + chunk.invalid().len())
            .sum()
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(text.as_bytes())
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), f)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string_lossy())
    }
}

/// 16 bytes, the most significant first.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A field of a tagged section that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawTag<'a> {
    /// Its number.
    pub number: u32,
    /// Its bytes.
    pub data: &'a [u8],
}

/// Where the bytes of a tagged field are.
pub(crate) struct Tag {
    pub number: u32,
    pub start: usize,
    pub stop: usize,
}

/// Bytes, of which the one at `pos` is the next.
pub(crate) struct Reader<'a> {
    pub buf: &'a [u8],
    pub pos: usize,
    pub options: Options,
    pub arena: Option<&'a Arena>,
    pub compressed: bool,
    pub budget: usize,
}

impl<'a> Reader<'a> {
    pub fn new(buf: &'a [u8], options: Options, arena: Option<&'a Arena>) -> Self {
        Self {
            buf,
            pos: 0,
            options,
            arena,
            compressed: false,
            budget: options.max_decompressed,
        }
    }

    /// The number of bytes that are left.
    pub fn left(&self) -> usize {
        self.buf.len() - self.pos
    }

    /// The next bytes of a run, or an error if some are missing.
    #[inline(always)]
    pub fn run<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let found = self.buf.get(self.pos..)?.first_chunk()?;
        self.pos += N;
        Some(found)
    }

    /// The next bytes, those of one field.
    #[inline]
    pub fn fixed<const N: usize>(&mut self, name: &str) -> Result<[u8; N]> {
        match self.run() {
            Some(found) => Ok(*found),
            None => Err(self.short(&[(name, N)])),
        }
    }

    /// The error for the first of the fields that is not whole.
    #[cold]
    pub fn short(&self, fields: &[(&str, usize)]) -> Error {
        let mut at = self.pos;
        for &(name, need) in fields {
            if at + need > self.buf.len() {
                let have = self.buf.len().saturating_sub(at);
                return Error::new(Code::Truncated, name, at)
                    .need(size(need))
                    .have(size(have));
            }
            at += need;
        }
        Error::new(Code::Truncated, "", at)
    }

    /// The end of the next `need` bytes.
    fn span(&self, name: &str, need: i64) -> Result<usize> {
        match usize::try_from(need) {
            Ok(need) if need <= self.left() => Ok(self.pos + need),
            Ok(_) => Err(Error::new(Code::Truncated, name, self.pos)
                .need(need)
                .have(size(self.left()))),
            Err(_) => Err(Error::new(Code::Malformed, name, self.pos)
                .because("negative size")
                .need(words("at least 0"))
                .have(need)),
        }
    }

    /// The next bytes.
    #[inline]
    pub fn octets(&mut self, name: &str, need: i64) -> Result<&'a [u8]> {
        let stop = self.span(name, need)?;
        let found = &self.buf[self.pos..stop];
        self.pos = stop;
        Ok(found)
    }

    /// All bytes up to the end.
    pub fn rest(&mut self) -> &'a [u8] {
        let found = &self.buf[self.pos..];
        self.pos = self.buf.len();
        found
    }

    /// Requires that all bytes were read.
    pub fn ends(&self, name: &str) -> Result<()> {
        if self.left() == 0 {
            return Ok(());
        }
        Err(Error::new(Code::Malformed, name, self.pos)
            .because("bytes are left over after the field's content")
            .need(0)
            .have(size(self.left())))
    }

    /// A value that must use all of its bytes.
    pub fn inside<T>(&mut self, need: i64, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let stop = self.span("", need)?;
        let outer = self.buf;
        self.buf = &outer[..stop];
        let found = read(self)?;
        self.ends("")?;
        self.buf = outer;
        Ok(found)
    }

    /// A list with a number of elements, each of at least `least` bytes.
    #[inline]
    pub fn many<T>(
        &mut self,
        name: &str,
        count: i64,
        least: usize,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.count(name, count, least)?;
        // allocates no more than the bytes can hold, whatever the count
        let room = (64 << 10) / size_of::<T>().max(1);
        let mut found = Vec::with_capacity(count.min(room));
        for i in 0..count {
            found.push(read(self).map_err(|error| error.within_item(name, i))?);
        }
        Ok(found)
    }

    /// A number of elements that the bytes can hold.
    fn count(&self, name: &str, count: i64, least: usize) -> Result<usize> {
        let left = self.left();
        let fail = |code| Error::new(code, name, self.pos);
        let Ok(found) = usize::try_from(count) else {
            let error = fail(Code::Malformed).because("negative count");
            return Err(error.need(words("at least 0")).have(count));
        };
        if found > left / least.max(1) {
            return Err(if least == 0 {
                fail(Code::LimitExceeded)
                    .because("more elements than bytes")
                    .need(count)
                    .have(size(left))
            } else {
                fail(Code::Truncated)
                    .need(i128::from(count) * least as i128)
                    .have(size(left))
            });
        }
        if found > self.options.max_elements {
            return Err(self.too_many(name));
        }
        Ok(found)
    }

    #[cold]
    fn too_many(&self, name: &str) -> Error {
        let most = self.options.max_elements;
        let error = Error::new(Code::LimitExceeded, name, self.pos).because("too many elements");
        error.need(most as i128 + 1).have(size(most))
    }

    /// A list up to the end.
    pub fn repeated<T>(
        &mut self,
        name: &str,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        while self.left() > 0 {
            if found.len() >= self.options.max_elements {
                return Err(self.too_many(name));
            }
            let at = self.pos;
            found.push(read(self).map_err(|error| error.within_item(name, found.len()))?);
            if self.pos == at {
                return Err(Error::new(Code::Malformed, name, at)
                    .because("an element without bytes would repeat forever"));
            }
        }
        Ok(found)
    }

    /// A list up to the element for which `last` is true.
    pub fn until<T>(
        &mut self,
        name: &str,
        last: impl Fn(&T) -> bool,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        loop {
            if found.len() >= self.options.max_elements {
                return Err(self.too_many(name));
            }
            let item = read(self).map_err(|error| error.within_item(name, found.len()))?;
            let done = last(&item);
            found.push(item);
            if done {
                return Ok(found);
            }
        }
    }

    /// An unsigned LEB128 number of at most 5 bytes.
    #[inline]
    pub fn uvarint32(&mut self, name: &str) -> Result<u32> {
        Ok(self.leb128(name, 5)? as u32)
    }

    #[inline]
    pub fn zigzag32(&mut self, name: &str) -> Result<i32> {
        let raw = self.leb128(name, 5)? as u32;
        Ok((raw >> 1) as i32 ^ -((raw & 1) as i32))
    }

    #[inline]
    pub fn zigzag64(&mut self, name: &str) -> Result<i64> {
        let raw = self.leb128(name, 10)?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    #[inline]
    fn leb128(&mut self, name: &str, most: usize) -> Result<u64> {
        if let Some(&byte) = self.buf.get(self.pos).filter(|&&byte| byte < 0x80) {
            self.pos += 1;
            return Ok(u64::from(byte));
        }
        self.long_leb128(name, most)
    }

    fn long_leb128(&mut self, name: &str, most: usize) -> Result<u64> {
        let mut value = 0;
        for n in 0..most {
            let Some(&byte) = self.buf.get(self.pos + n) else {
                return Err(Error::new(Code::Truncated, name, self.pos)
                    .need(size(n + 1))
                    .have(size(n)));
            };
            value |= u64::from(byte & 0x7f) << (7 * n);
            if byte < 0x80 {
                self.pos += n + 1;
                return Ok(value);
            }
        }
        let reason = format!("varint does not end within {most} bytes");
        Err(Error::new(Code::Malformed, name, self.pos).because(&reason))
    }

    /// The frame of a tagged section (KIP-482).
    #[inline]
    pub fn tags(&mut self, name: &str) -> Result<Vec<Tag>> {
        let many = self.uvarint32(name)?;
        if many == 0 {
            return Ok(Vec::new());
        }
        self.some_tags(name, many)
    }

    fn some_tags(&mut self, name: &str, many: u32) -> Result<Vec<Tag>> {
        let count = self.count(name, i64::from(many), 2)?;
        let mut found = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            let number = self.uvarint32(name)?;
            let need = self.uvarint32(name)?;
            let stop = self.span(name, i64::from(need))?;
            found.push(Tag {
                number,
                start: self.pos,
                stop,
            });
            self.pos = stop;
        }
        Ok(found)
    }
}

/// The number in a few bytes, the most significant one first.
pub(crate) fn bits(data: &[u8]) -> u64 {
    data.iter()
        .fold(0, |found, each| found << 8 | u64::from(*each))
}

/// A part of a run.
#[inline(always)]
pub(crate) fn part<const N: usize>(run: &[u8], at: usize) -> [u8; N] {
    let mut found = [0; N];
    found.copy_from_slice(&run[at..at + N]);
    found
}

#[cold]
pub(crate) fn refused(name: &str, at: usize, need: &str, have: Fact) -> Error {
    let error = Error::new(Code::Malformed, name, at).because("value not allowed");
    error.need(words(need)).have(have)
}

#[cold]
pub(crate) fn not_encodable(name: &str, reason: &str) -> Error {
    let mut error = Error::new(Code::NotEncodable, name, 0).because(reason);
    error.0.at = None;
    error
}

/// A number as the field stores it.
#[inline]
pub(crate) fn fit<T: TryFrom<N>, N: Copy + Into<i128>>(name: &str, number: N) -> Result<T> {
    T::try_from(number).map_err(|_| not_encodable(name, "out of range").have(number))
}

/// A value that must be present.
#[inline]
pub(crate) fn given<T>(name: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| not_encodable(name, "a value is missing"))
}

/// Requires a number of bytes or elements.
#[inline]
pub(crate) fn sized(name: &str, have: usize, need: i64) -> Result<()> {
    if have as i128 == i128::from(need) {
        return Ok(());
    }
    Err(not_encodable(name, "wrong size")
        .need(need)
        .have(size(have)))
}

/// Writes the elements of a list.
#[inline]
pub(crate) fn each<T>(
    name: &str,
    items: &[T],
    mut write: impl FnMut(&T) -> Result<()>,
) -> Result<()> {
    for (i, item) in items.iter().enumerate() {
        write(item).map_err(|error| error.within_item(name, i))?;
    }
    Ok(())
}

pub(crate) fn floor_div(a: i64, b: i64) -> i64 {
    let found = a.wrapping_div(b);
    found - i64::from(a % b != 0 && (a < 0) != (b < 0))
}

pub(crate) fn floor_mod(a: i64, b: i64) -> i64 {
    a - b * floor_div(a, b)
}

#[inline]
pub(crate) fn put_uvarint32(out: &mut Vec<u8>, value: u32) {
    put_leb128(out, u64::from(value));
}

#[inline]
pub(crate) fn put_zigzag32(out: &mut Vec<u8>, value: i32) {
    put_leb128(out, u64::from(((value << 1) ^ (value >> 31)) as u32));
}

#[inline]
pub(crate) fn put_zigzag64(out: &mut Vec<u8>, value: i64) {
    put_leb128(out, ((value << 1) ^ (value >> 63)) as u64);
}

#[inline]
fn put_leb128(out: &mut Vec<u8>, mut value: u64) {
    // most numbers of a record have one byte or two
    if (0x80..0x4000).contains(&value) {
        out.extend_from_slice(&[value as u8 | 0x80, (value >> 7) as u8]);
        return;
    }
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a tagged section in ascending order.
pub(crate) fn put_tags(
    out: &mut Vec<u8>,
    name: &str,
    known: &[(u32, Vec<u8>)],
    unknown: &[RawTag<'_>],
) -> Result<()> {
    let mut tags: Vec<(u32, &[u8])> = known
        .iter()
        .map(|(number, data)| (*number, &data[..]))
        .collect();
    tags.extend(unknown.iter().map(|each| (each.number, each.data)));
    tags.sort_by_key(|each| each.0);
    if let Some(twice) = tags.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(not_encodable(name, "the tag occurs twice").have(twice[0].0));
    }
    put_uvarint32(out, fit(name, tags.len() as i128)?);
    for (number, data) in tags {
        put_uvarint32(out, number);
        put_uvarint32(out, fit(name, data.len() as i128)?);
        out.extend_from_slice(data);
    }
    Ok(())
}
