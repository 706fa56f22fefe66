//! What generated readers of streamed schemas share: streams, objects, and what expressions compute.

use crate::objects::{Node, Objects};
use crate::runtime::{self as rt, Code, Error, Fact, Options, Result, Rows, Text};
use std::cell::RefCell;
pub(crate) use std::cell::{Cell, OnceCell};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// That bits of a byte were left when an instance was read.
const FORGOTTEN: i32 = -1;
/// How many elements without bytes there may be, besides as many as there are bytes.
const SPARE: usize = 4096;
const MOST_SHIFT: i64 = 128;

/// What is owned besides the objects.
#[derive(Default)]
pub(crate) struct Core<'a> {
    readings: Rows<Reading<'a>>,
    streams: Rows<Stream<'a>>,
    bytes: rt::Arena,
}

/// What all streams of one input have in common.
struct Reading<'a> {
    options: Options,
    objects: &'a Objects<'a>,
    depth: Cell<usize>,
    /// The fields that lead to the object that is read, with their indexes; -1 outside of lists.
    path: RefCell<Vec<(&'static str, i64)>>,
    /// What was read before an instance at a position.
    sought: RefCell<Vec<&'a Stream<'a>>>,
    /// Elements without bytes, and how many there may be.
    empty: Cell<usize>,
    room: Cell<usize>,
    /// The bytes that expressions have made.
    made: Cell<usize>,
    /// The bytes that were decompressed.
    inflated: Cell<usize>,
    /// Objects with fields that are derived of what is around them.
    unchecked: RefCell<Vec<Node<'a>>>,
}

impl<'a> Reading<'a> {
    #[cold]
    fn failed(&self, code: Code, name: &str, at: usize) -> Error {
        let mut path = String::new();
        for (each, index) in self.path.borrow().iter().chain([&(name, -1)]) {
            if !path.is_empty() && !each.is_empty() {
                path.push('.');
            }
            path.push_str(each);
            if *index >= 0 {
                path.push_str(&format!("[{index}]"));
            }
        }
        Error::new(code, &path, at)
    }

    #[cold]
    fn too_deep(&self, name: &str, at: usize, depth: usize) -> Error {
        let error = self.failed(Code::LimitExceeded, name, at);
        let error = error.because("nested too deep").need(rt::size(depth + 1));
        error.have(rt::size(self.options.max_depth))
    }

    fn keep(&self, data: Vec<u8>) -> &'a [u8] {
        self.objects.core.bytes.keep(data)
    }
}

/// The bytes that objects are read from. Several may read one stream, each at its own position.
pub struct Stream<'a> {
    reading: &'a Reading<'a>,
    buf: &'a [u8],
    base: usize,
    end: usize,
    /// The next byte; after the end where a position is.
    at: Cell<usize>,
    /// The bits that are left of a byte, and how many.
    bits: Cell<u64>,
    left: Cell<i32>,
    /// The stream at whose start these bytes were first read, and which of those that read them does now.
    first: Option<&'a Stream<'a>>,
    turn: Cell<Option<&'a Stream<'a>>>,
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} bytes)", self.end - self.base)
    }
}

/// An input, as a stream.
pub(crate) fn input<'a>(
    objects: &'a Objects<'a>,
    data: &'a [u8],
    options: Options,
) -> &'a Stream<'a> {
    let reading = objects.core.readings.add(Reading {
        options,
        objects,
        depth: Cell::new(0),
        path: RefCell::default(),
        sought: RefCell::default(),
        empty: Cell::new(0),
        room: Cell::new(data.len().saturating_add(SPARE)),
        made: Cell::new(0),
        inflated: Cell::new(0),
        unchecked: RefCell::default(),
    });
    Stream::over(reading, data, 0, data.len())
}

impl<'a> Stream<'a> {
    /// All of its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.between(self.base, self.end)
    }

    /// A part of it; nothing of what is after the end, where a position may be.
    fn between(&self, start: usize, stop: usize) -> &'a [u8] {
        self.buf.get(start..stop).unwrap_or(&[])
    }

    /// The bytes that are left.
    fn left(&self) -> &'a [u8] {
        self.between(self.at.get(), self.end)
    }

    fn over(reading: &'a Reading<'a>, buf: &'a [u8], base: usize, end: usize) -> &'a Self {
        reading.objects.core.streams.add(Self {
            reading,
            buf,
            base,
            end,
            at: Cell::new(base),
            bits: Cell::new(0),
            left: Cell::new(0),
            first: None,
            turn: Cell::new(None),
        })
    }

    pub(crate) fn objects(&self) -> &'a Objects<'a> {
        self.reading.objects
    }

    #[cold]
    fn failed(&self, code: Code, name: &str, at: usize) -> Error {
        self.reading.failed(code, name, at)
    }

    #[cold]
    fn malformed(&self, name: &str, reason: &str, at: usize) -> Error {
        self.failed(Code::Malformed, name, at).because(reason)
    }

    /// The one that reads these bytes at the moment.
    pub(crate) fn current(&'a self) -> &'a Self {
        let first = self.first.unwrap_or(self);
        first.turn.get().unwrap_or(first)
    }

    pub(crate) fn pos(&'a self) -> i64 {
        self.current().at.get().saturating_sub(self.base) as i64
    }

    pub(crate) fn size(&self) -> i64 {
        (self.end - self.base) as i64
    }

    pub(crate) fn eof(&'a self) -> bool {
        self.current().is_at_end()
    }

    fn is_at_end(&self) -> bool {
        self.at.get() >= self.end && self.left.get() <= 0
    }

    pub(crate) fn at(&self) -> usize {
        self.at.get()
    }

    pub(crate) fn ago(&self, size: i64) -> i64 {
        (self.at.get() as i64).saturating_sub(size)
    }

    /// The next bytes; they are a part of the input, not a copy.
    pub(crate) fn take(&self, name: &str, size: i64) -> Result<&'a [u8]> {
        let (at, left) = (self.at.get(), self.left().len());
        match usize::try_from(size) {
            Ok(0) => Ok(&[]),
            Ok(size) if size <= left => {
                self.at.set(at + size);
                Ok(self.between(at, at + size))
            }
            Err(_) if size < 0 => {
                let error = self.malformed(name, "negative size", at);
                Err(error.need(rt::words("at least 0")).have(size))
            }
            _ => {
                let error = self.failed(Code::Truncated, name, at);
                Err(error.need(size).have(rt::size(left)))
            }
        }
    }

    /// The bytes of a number.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&self, name: &str) -> Result<[u8; N]> {
        let at = self.at.get();
        match self.left().first_chunk() {
            Some(found) => {
                self.at.set(at + N);
                Ok(*found)
            }
            None => Err(self.short(&[(name, N)])),
        }
    }

    /// The bytes of neighbors of fixed width; an error names the first that is not whole.
    #[inline]
    pub(crate) fn run<const N: usize>(&self, fields: &[(&str, usize)]) -> Result<&'a [u8; N]> {
        let at = self.at.get();
        match self.left().first_chunk() {
            Some(found) => {
                self.at.set(at + N);
                Ok(found)
            }
            None => Err(self.short(fields)),
        }
    }

    #[cold]
    fn short(&self, fields: &[(&str, usize)]) -> Error {
        for &(name, size) in fields {
            if let Err(error) = self.take(name, size as i64) {
                return error;
            }
        }
        self.failed(Code::Truncated, "", self.at.get())
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        let found = self.left();
        self.at.set(self.at.get() + found.len());
        found
    }

    pub(crate) fn contents(&self, name: &str, need: &[u8]) -> Result<&'a [u8]> {
        let at = self.at.get();
        let have = self.take(name, need.len() as i64)?;
        if have != need {
            let error = self.malformed(name, "wrong fixed bytes", at);
            return Err(error.need(rt::shown(need)).have(rt::shown(have)));
        }
        Ok(have)
    }

    /// The bytes up to a terminator, which stands at a whole number of its own size.
    pub(crate) fn until(
        &self,
        name: &str,
        mark: &[u8],
        include: bool,
        consume: bool,
        needed: bool,
    ) -> Result<&'a [u8]> {
        let (start, unit) = (self.at.get(), mark.len());
        let left = self.left();
        if let Some(index) = left.chunks_exact(unit.max(1)).position(|each| each == mark) {
            let stop = index * unit;
            self.at.set(start + stop + if consume { unit } else { 0 });
            return Ok(&left[..stop + if include { unit } else { 0 }]);
        }
        if needed {
            let error = self.failed(Code::Truncated, name, start);
            return Err(error.because("no terminator").need(rt::size(unit)).have(0));
        }
        Ok(self.rest())
    }

    /// Drops the bits that are left of a byte.
    pub(crate) fn align(&self) {
        self.bits.set(0);
        self.left.set(0);
    }

    /// The next bits of a width; `little` takes the lowest bits of a byte first.
    pub(crate) fn bits(&self, name: &str, width: i32, little: bool) -> Result<u64> {
        let left = self.left.get();
        let size = (width - left + 7) / 8;
        if size > 0 && left == FORGOTTEN {
            let reason = "bits of the byte before were left when an instance was read";
            let error = self.failed(Code::Unsupported, name, self.at.get());
            return Err(error.because(reason));
        }
        let mut have = left.max(0);
        let mut held = u128::from(self.bits.get());
        if size > 0 {
            for &byte in self.take(name, i64::from(size))? {
                held = if little {
                    held | u128::from(byte) << have
                } else {
                    held << 8 | u128::from(byte)
                };
                have += 8;
            }
        }
        let rest = have - width;
        let shift = if little { width } else { rest };
        let (high, low) = (held >> shift, held & ((1 << shift) - 1));
        let (found, kept) = if little { (low, high) } else { (high, low) };
        self.bits.set(kept as u64);
        self.left.set(rest);
        Ok(found as u64)
    }

    /// The stream of the next bytes.
    pub(crate) fn part(&self, name: &str, size: i64) -> Result<&'a Self> {
        let start = self.at.get();
        let size = self.take(name, size)?.len();
        Ok(Self::over(self.reading, self.buf, start, start + size))
    }

    pub(crate) fn remaining(&self) -> &'a Self {
        let start = self.at.get();
        let size = self.rest().len();
        Self::over(self.reading, self.buf, start, start + size)
    }

    /// A stream of bytes that are not those of the input.
    pub(crate) fn inside(&self, data: &'a [u8]) -> &'a Self {
        let room = &self.reading.room;
        room.set(room.get().saturating_add(data.len()));
        Self::over(self.reading, data, 0, data.len())
    }

    /// The stream at a position; what was read of it before goes on from where it stood.
    pub(crate) fn seek(&'a self, name: &str, pos: i64) -> Result<&'a Self> {
        let before = self.current();
        if before.left.get() != 0 {
            before.bits.set(0);
            before.left.set(FORGOTTEN);
        }
        let Ok(pos) = usize::try_from(pos) else {
            let error = self.malformed(name, "negative position", self.base);
            return Err(error.need(rt::words("at least 0")).have(pos));
        };
        self.reading.sought.borrow_mut().push(before);
        let first = self.first.unwrap_or(self);
        // no further than what a signed number holds
        let at = self.base.saturating_add(pos).min(isize::MAX as usize);
        let found = self.objects().core.streams.add(Self {
            reading: self.reading,
            buf: self.buf,
            base: self.base,
            end: self.end,
            at: Cell::new(at),
            bits: Cell::new(0),
            left: Cell::new(0),
            first: Some(first),
            turn: Cell::new(None),
        });
        first.turn.set(Some(found));
        Ok(found)
    }

    #[cold]
    pub(crate) fn refused(&self, name: &str, at: i64, need: Fact, have: Fact) -> Error {
        let at = usize::try_from(at).unwrap_or(0);
        let error = self.malformed(name, "value not allowed", at);
        error.need(need).have(have)
    }

    pub(crate) fn text(
        &self,
        name: &str,
        data: &'a [u8],
        encoding: &str,
        upper: &str,
    ) -> Result<Text<'a>> {
        match decode(data, encoding, upper) {
            Ok(None) => Ok(Text(data)),
            Ok(Some(text)) => Ok(Text(self.reading.keep(text.into_bytes()))),
            Err(reason) => {
                let reason = format!("not {encoding}: {reason}");
                Err(self.malformed(name, &reason, self.at.get()))
            }
        }
    }

    /// Compares the derived fields of an object once its surroundings are read.
    pub(crate) fn later(&self, node: Node<'a>) {
        self.reading.unchecked.borrow_mut().push(node);
    }

    /// Compares the derived fields of objects whose surroundings are read.
    pub(crate) fn check(&self) -> Result<()> {
        loop {
            let next = self.reading.unchecked.borrow_mut().pop();
            match next {
                Some(node) => node._check()?,
                None => return Ok(()),
            }
        }
    }

    // -- lists

    /// A list with a number of elements, each of at least `least` bytes.
    pub(crate) fn counted(
        &'a self,
        name: &'static str,
        count: i64,
        least: usize,
        watched: bool,
    ) -> Result<Walk<'a>> {
        let at = self.at.get();
        let room = match least {
            0 => self.reading.room.get().saturating_mul(8),
            _ => self.left().len(),
        };
        let Ok(found) = usize::try_from(count) else {
            let error = self.malformed(name, "negative count", at);
            return Err(error.need(rt::words("at least 0")).have(count));
        };
        if least > 0 && found > room / least {
            let error = self.failed(Code::Truncated, name, at);
            let need = rt::words(&format!("{count} times {least}"));
            return Err(error.need(need).have(rt::size(room)));
        }
        if found > room {
            let error = self.failed(Code::LimitExceeded, name, at);
            let error = error.because("more elements than bytes").need(count);
            return Err(error.have(rt::size(room)));
        }
        if found > self.reading.options.max_elements {
            return Err(self.too_many(name));
        }
        Ok(self.walk(name, Goal::Count(found), watched))
    }

    /// A list up to the end.
    pub(crate) fn to_end(&'a self, name: &'static str) -> Walk<'a> {
        self.walk(name, Goal::End, false)
    }

    /// A list up to an element with which it ends.
    pub(crate) fn repeated(&'a self, name: &'static str) -> Walk<'a> {
        self.walk(name, Goal::Element, true)
    }

    fn walk(&'a self, name: &'static str, goal: Goal, watched: bool) -> Walk<'a> {
        Walk {
            io: self,
            name,
            goal,
            watched,
            number: 0,
            before: None,
        }
    }

    #[cold]
    fn too_many(&self, name: &str) -> Error {
        let most = self.reading.options.max_elements;
        let error = self.failed(Code::LimitExceeded, name, self.at.get());
        let error = error.because("too many elements").have(rt::size(most));
        error.need(most as i128 + 1)
    }

    // -- processes

    /// Where the bytes begin that a process is given.
    fn processed(&self, name: &str, data: &[u8], process: &str) -> Result<usize> {
        let at = self.at.get().saturating_sub(data.len());
        let most = self.reading.options.max_decompressed;
        if data.len() > most {
            return Err(self.too_large(name, process, at));
        }
        Ok(at)
    }

    #[cold]
    pub(crate) fn too_large(&self, name: &str, process: &str, at: usize) -> Error {
        let most = self.reading.options.max_decompressed;
        let error = self.failed(Code::LimitExceeded, name, at).because(process);
        error.need(most as i128 + 1).have(rt::size(most))
    }

    pub(crate) fn xor(&self, name: &str, data: &[u8], key: i64) -> Result<&'a [u8]> {
        let at = self.processed(name, data, "xor")?;
        match u8::try_from(key) {
            Ok(key) => self.xor_all(name, data, &[key]),
            Err(_) => {
                let reason = format!("xor: the key {key} is no byte");
                Err(self.malformed(name, &reason, at))
            }
        }
    }

    pub(crate) fn xor_all(&self, name: &str, data: &[u8], key: &[u8]) -> Result<&'a [u8]> {
        let at = self.processed(name, data, "xor")?;
        if key.is_empty() {
            return Err(self.malformed(name, "xor: the key is empty", at));
        }
        let pairs = data.iter().zip(key.iter().cycle());
        Ok(self
            .reading
            .keep(pairs.map(|(one, two)| one ^ two).collect()))
    }

    pub(crate) fn rol(&self, name: &str, data: &[u8], by: i64) -> Result<&'a [u8]> {
        self.processed(name, data, "rol")?;
        let by = by.rem_euclid(8) as u32;
        let turned = data.iter().map(|each| each.rotate_left(by));
        Ok(self.reading.keep(turned.collect()))
    }

    pub(crate) fn ror(&self, name: &str, data: &[u8], by: i64) -> Result<&'a [u8]> {
        self.rol(name, data, 8 - by.rem_euclid(8))
    }
}

/// What a list ends with.
#[derive(Clone, Copy)]
enum Goal {
    Count(usize),
    End,
    Element,
}

/// Goes from element to element of a list.
pub(crate) struct Walk<'a> {
    io: &'a Stream<'a>,
    name: &'static str,
    goal: Goal,
    /// Whether elements without bytes are counted.
    watched: bool,
    number: usize,
    /// Where the element starts: the byte, and the bits that are left.
    before: Option<(usize, i32)>,
}

impl Walk<'_> {
    pub(crate) fn index(&self) -> i64 {
        self.number as i64
    }

    /// Whether there is another element.
    pub(crate) fn more(&mut self) -> Result<bool> {
        let io = self.io;
        let here = Some((io.at.get(), io.left.get()));
        match self.goal {
            Goal::Count(count) => {
                self.before = here;
                return Ok(self.number < count);
            }
            Goal::End if io.is_at_end() => return Ok(false),
            Goal::End if here == self.before => {
                let reason = "an element without bytes would repeat forever";
                return Err(io.malformed(self.name, reason, io.at.get()));
            }
            _ => {}
        }
        if self.number >= io.reading.options.max_elements {
            return Err(io.too_many(self.name));
        }
        self.before = here;
        Ok(true)
    }

    /// Ends an element.
    pub(crate) fn done(&mut self) -> Result<()> {
        let (io, reading) = (self.io, self.io.reading);
        if self.watched && self.before == Some((io.at.get(), io.left.get())) {
            let (empty, room) = (reading.empty.get() + 1, reading.room.get());
            reading.empty.set(empty);
            if empty > room {
                let reason = "more elements without bytes than there are bytes";
                let error = io.failed(Code::LimitExceeded, self.name, io.at.get());
                let error = error.because(reason).need(rt::size(empty));
                return Err(error.have(rt::size(room)));
            }
        }
        self.number += 1;
        Ok(())
    }
}

/// A list of a streamed schema. It is a slice; a clone is the same list.
pub struct List<T>(Rc<Items<T>>);

struct Items<T> {
    /// While it is read, expressions may ask for what is there already.
    growing: RefCell<Vec<T>>,
    done: OnceCell<Vec<T>>,
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.done.get().map_or(&[], |found| found)
    }
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Clone> List<T> {
    pub(crate) fn new() -> Self {
        Self(Rc::new(Items {
            growing: RefCell::default(),
            done: OnceCell::new(),
        }))
    }

    pub(crate) fn of(items: Vec<T>) -> Self {
        let found = Self::new();
        found.0.growing.replace(items);
        found.finish();
        found
    }

    pub(crate) fn push(&self, item: T) {
        self.0.growing.borrow_mut().push(item);
    }

    pub(crate) fn finish(&self) {
        let mut items = self.0.growing.take();
        items.shrink_to_fit();
        let _ = self.0.done.set(items);
    }

    /// What a function makes of the elements, also while there will be more.
    fn with<R>(&self, by: impl FnOnce(&[T]) -> R) -> R {
        match self.0.done.get() {
            Some(items) => by(items),
            None => by(&self.0.growing.borrow()),
        }
    }

    pub(crate) fn size(&self) -> i64 {
        self.with(|items| items.len() as i64)
    }
}

// -- objects

/// Where an object is: its name in the one that holds it, its index in a list or -1, what is around it.
pub(crate) struct Place<'a> {
    name: &'static str,
    index: i64,
    parent: Option<Node<'a>>,
    root: Option<Node<'a>>,
}

impl<'a> Place<'a> {
    pub(crate) const OUTERMOST: Self = Self::new("", -1, None, None);

    pub(crate) const fn new(
        name: &'static str,
        index: i64,
        parent: Option<Node<'a>>,
        root: Option<Node<'a>>,
    ) -> Self {
        Self {
            name,
            index,
            parent,
            root,
        }
    }
}

/// Where the bytes of a field are.
#[derive(Clone, Copy)]
struct Span<'a> {
    io: &'a Stream<'a>,
    start: usize,
    stop: usize,
}

type Spans<'a> = Box<[Cell<Option<Span<'a>>>]>;

/// What all objects have.
pub(crate) struct Base<'a> {
    pub(crate) io: &'a Stream<'a>,
    parent: Option<Node<'a>>,
    root: Cell<Option<Node<'a>>>,
    start: usize,
    depth: usize,
    /// Of bytes: 1 is little-endian, 2 big-endian, 0 not known.
    order: Cell<u8>,
    /// The fields that were read, of those that are asked for before.
    seen: Cell<u64>,
    /// Where the bytes of fields are that others are derived from.
    spans: OnceCell<Spans<'a>>,
    name: &'static str,
}

impl<'a> Base<'a> {
    /// Begins to read an object.
    pub(crate) fn begin(io: &'a Stream<'a>, place: &Place<'a>) -> Result<Self> {
        let reading = io.reading;
        let depth = reading.depth.get();
        if depth >= reading.options.max_depth {
            let name = match place.index {
                0.. => format!("{}[{}]", place.name, place.index),
                _ => place.name.to_owned(),
            };
            return Err(reading.too_deep(&name, io.at.get(), depth));
        }
        reading.depth.set(depth + 1);
        if !place.name.is_empty() {
            reading.path.borrow_mut().push((place.name, place.index));
        }
        let parent = place.parent.map(Node::_base);
        Ok(Self {
            io,
            parent: place.parent,
            root: Cell::new(place.root.or(parent.and_then(|parent| parent.root.get()))),
            start: io.at.get(),
            depth: depth + 1,
            order: Cell::new(parent.map_or(0, |parent| parent.order.get())),
            seen: Cell::new(0),
            spans: OnceCell::new(),
            name: place.name,
        })
    }

    /// The object that it is of.
    pub(crate) fn of(&self, node: Node<'a>) {
        if self.root.get().is_none() {
            self.root.set(Some(node));
        }
    }

    pub(crate) fn finish(&self) {
        let reading = self.io.reading;
        reading.depth.set(reading.depth.get().saturating_sub(1));
        if !self.name.is_empty() {
            reading.path.borrow_mut().pop();
        }
    }

    pub(crate) fn parent(&self) -> Option<Node<'a>> {
        self.parent
    }

    pub(crate) fn root(&self) -> Option<Node<'a>> {
        self.root.get()
    }

    /// Notes that a field was read.
    pub(crate) fn saw(&self, bit: u32) {
        self.seen.set(self.seen.get() | 1 << bit);
    }

    pub(crate) fn set_order(&self, order: u8) {
        self.order.set(order);
    }

    /// The byte order, which bytes said.
    pub(crate) fn is_little(&self) -> Result<bool> {
        match self.order.get() {
            0 => {
                let reason = "no byte order is known for this value";
                Err(self.io.malformed("", reason, self.start))
            }
            order => Ok(order == 1),
        }
    }

    /// The bytes of a number with the most significant one first.
    pub(crate) fn ordered<const N: usize>(&self, mut data: [u8; N]) -> Result<[u8; N]> {
        if self.is_little()? {
            data.reverse();
        }
        Ok(data)
    }

    /// Begins to read an instance, which may be long after the object was read; what is returned ends it.
    pub(crate) fn enter(&self, busy: &'a Cell<bool>, name: &str) -> Result<Visit<'a>> {
        let reading = self.io.reading;
        if busy.get() {
            let reason = "the instance needs itself";
            return Err(self.io.malformed(name, reason, self.start));
        }
        let deep = reading.depth.get().max(self.depth);
        if deep >= reading.options.max_depth {
            return Err(reading.too_deep(name, self.start, deep));
        }
        let visit = Visit {
            reading,
            depth: reading.depth.replace(deep + 1),
            path: reading.path.borrow().len(),
            sought: reading.sought.borrow().len(),
            busy,
        };
        busy.set(true);
        Ok(visit)
    }

    // -- what fields are derived from

    /// Whether derived fields are compared.
    pub(crate) fn checks(&self, checksum: bool) -> bool {
        let options = &self.io.reading.options;
        match checksum {
            true => options.check_checksums,
            false => options.check_derived,
        }
    }

    /// Notes where one of several fields begins, or where it ends.
    pub(crate) fn mark(&self, io: &'a Stream<'a>, index: usize, count: usize, ended: bool) {
        let spans = self
            .spans
            .get_or_init(|| vec![Cell::new(None); count].into());
        let stop = io.at.get();
        let start = spans[index].get().map_or(stop, |span| span.start);
        let start = if ended { start } else { stop };
        spans[index].set(Some(Span { io, start, stop }));
    }

    fn span(&self, index: usize, name: &str) -> Result<Span<'a>> {
        let spans = self.spans.get();
        let found = spans.and_then(|spans| spans.get(index)?.get());
        found.ok_or_else(|| self.wrong(name, "its bytes are needed, and it is not there"))
    }

    /// Where a field begins in its stream.
    pub(crate) fn position(&self, of: Node<'a>, index: usize, name: &str) -> Result<i64> {
        let found = of._base().span(index, name)?;
        Ok(found.start.saturating_sub(found.io.base) as i64)
    }

    /// The bytes from one field of an object to another. Those of the field `own` of this one count as `blank`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn between(
        &self,
        of: Node<'a>,
        first: usize,
        name: &str,
        last: usize,
        last_name: &str,
        own: i32,
        blank: u8,
    ) -> Result<&'a [u8]> {
        let (from, to) = (
            of._base().span(first, name)?,
            of._base().span(last, last_name)?,
        );
        let (start, data) = (from.start, from.io.between(from.start, to.stop));
        let held = usize::try_from(own)
            .ok()
            .and_then(|own| self.spans.get()?.get(own)?.get());
        let Some(held) = held else { return Ok(data) };
        let (low, high) = (held.start.max(start), held.stop.min(to.stop));
        if low >= high {
            return Ok(data);
        }
        let mut data = data.to_vec();
        data[low - start..high - start].fill(blank);
        Ok(self.io.reading.keep(data))
    }

    /// The error that a field is not what it is derived from.
    #[cold]
    pub(crate) fn differs(&self, name: &str, checksum: bool, need: Fact, have: Fact) -> Error {
        if checksum {
            let error = self.io.failed(Code::BadChecksum, name, self.start);
            return error.need(have).have(need);
        }
        let error = self
            .io
            .malformed(name, "not what it is derived from", self.start);
        error.need(need).have(have)
    }

    // -- values that expressions need

    /// An error at the position of the object's stream.
    #[cold]
    fn wrong(&self, name: &str, reason: &str) -> Error {
        self.io.malformed(name, reason, self.io.at.get())
    }

    #[cold]
    fn beyond(&self) -> Error {
        let error = self.io.failed(Code::LimitExceeded, "", self.io.at.get());
        error.because("an expression exceeds 64 bits")
    }

    pub(crate) fn required<T>(&self, value: Option<T>, name: &str, reason: &str) -> Result<T> {
        value.ok_or_else(|| self.wrong(name, reason))
    }

    pub(crate) fn there<T>(&self, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.wrong("", "an expression needs it, and it is not there"))
    }

    /// A field that must have been read.
    pub(crate) fn asked<T>(
        &self,
        of: &Self,
        bit: u32,
        value: T,
        name: &str,
        reason: &str,
    ) -> Result<T> {
        if of.seen.get() >> bit & 1 == 0 {
            return Err(self.wrong(name, reason));
        }
        Ok(value)
    }

    pub(crate) fn signed(&self, value: u64) -> Result<i64> {
        i64::try_from(value).map_err(|_| self.beyond())
    }

    pub(crate) fn unsigned(&self, value: i64) -> Result<u64> {
        u64::try_from(value).map_err(|_| self.beyond())
    }

    pub(crate) fn plus(&self, a: i64, b: i64) -> Result<i64> {
        a.checked_add(b).ok_or_else(|| self.beyond())
    }

    pub(crate) fn minus(&self, a: i64, b: i64) -> Result<i64> {
        a.checked_sub(b).ok_or_else(|| self.beyond())
    }

    pub(crate) fn times(&self, a: i64, b: i64) -> Result<i64> {
        a.checked_mul(b).ok_or_else(|| self.beyond())
    }

    pub(crate) fn negated(&self, a: i64) -> Result<i64> {
        self.minus(0, a)
    }

    pub(crate) fn divided(&self, a: i64, b: i64) -> Result<i64> {
        match b {
            0 => Err(self.wrong("", "an expression divides by 0")),
            -1 => self.negated(a),
            _ => Ok(rt::floor_div(a, b)),
        }
    }

    pub(crate) fn modulo(&self, a: i64, b: i64) -> Result<i64> {
        match b {
            0 => Err(self.wrong("", "an expression divides by 0")),
            -1 => Ok(0),
            _ => Ok(rt::floor_mod(a, b)),
        }
    }

    fn checked_shift(&self, by: i64) -> Result<u32> {
        if !(-MOST_SHIFT..=MOST_SHIFT).contains(&by) {
            return Err(self.wrong("", "an expression shifts by too many bits"));
        }
        Ok(by.unsigned_abs() as u32)
    }

    pub(crate) fn shifted_left(&self, a: i64, by: i64) -> Result<i64> {
        let bits = self.checked_shift(by)?;
        if by < 0 {
            return Ok(a >> bits.min(63));
        }
        let found = a.checked_shl(bits).unwrap_or(0);
        if found.checked_shr(bits).unwrap_or(0) != a {
            return Err(self.beyond());
        }
        Ok(found)
    }

    pub(crate) fn shifted_right(&self, a: i64, by: i64) -> Result<i64> {
        self.checked_shift(by)?;
        self.shifted_left(a, -by)
    }

    pub(crate) fn shifted_right_unsigned(&self, a: u64, by: i64) -> Result<u64> {
        let bits = self.checked_shift(by)?;
        if by < 0 {
            let found = self.shifted_left(self.signed(a)?, -by)?;
            return Ok(found as u64);
        }
        Ok(a.checked_shr(bits).unwrap_or(0))
    }

    pub(crate) fn divided_real(&self, a: f64, b: f64) -> Result<f64> {
        if b == 0.0 {
            return Err(self.wrong("", "an expression divides by 0"));
        }
        Ok(a / b)
    }

    pub(crate) fn modulo_real(&self, a: f64, b: f64) -> Result<f64> {
        if b == 0.0 {
            return Err(self.wrong("", "an expression divides by 0"));
        }
        let found = a % b;
        Ok(if found != 0.0 && (found < 0.0) != (b < 0.0) {
            found + b
        } else {
            found
        })
    }

    pub(crate) fn truncated(&self, value: f64) -> Result<i64> {
        const MOST: f64 = 9_223_372_036_854_775_808.0;
        if !value.is_finite() {
            return Err(self.wrong("", "an expression needs a number"));
        }
        let value = value.trunc();
        if !(-MOST..MOST).contains(&value) {
            return Err(self.beyond());
        }
        Ok(value as i64)
    }

    // -- text

    /// Bytes that an expression made; all of them together have a limit.
    fn made(&self, data: Vec<u8>) -> Result<&'a [u8]> {
        let reading = self.io.reading;
        let most = reading.options.max_decompressed;
        let made = reading.made.get().saturating_add(data.len());
        if made > most {
            let error = reading.failed(Code::LimitExceeded, "", self.io.at.get());
            let error = error.because("expressions make too many bytes");
            return Err(error.need(rt::size(made)).have(rt::size(most)));
        }
        reading.made.set(made);
        Ok(reading.keep(data))
    }

    /// The number that digits to a base stand for.
    pub(crate) fn number_of(&self, text: Text<'_>, base: i64) -> Result<i64> {
        let wrong = || self.wrong("", "an expression needs a number");
        let base = u32::try_from(base)
            .ok()
            .filter(|base| (2..=36).contains(base));
        let (base, text) = (base.ok_or_else(wrong)?, text.to_str().map_err(|_| wrong())?);
        let text = text.trim();
        let (minus, mut digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let prefix = match base {
            2 => "0b",
            8 => "0o",
            16 => "0x",
            _ => "",
        };
        let head = digits.get(..2).filter(|_| !prefix.is_empty());
        if head.is_some_and(|head| head.eq_ignore_ascii_case(prefix)) {
            digits = digits[2..].strip_prefix('_').unwrap_or(&digits[2..]);
        }
        if digits.is_empty()
            || digits.starts_with('_')
            || digits.ends_with('_')
            || digits.contains("__")
        {
            return Err(wrong());
        }
        let (mut found, mut too_large) = (0_i64, false);
        for each in digits.chars().filter(|each| *each != '_') {
            let digit = i64::from(each.to_digit(base).ok_or_else(wrong)?);
            let next = found.checked_mul(i64::from(base));
            let next = next.and_then(|next| next.checked_add(if minus { -digit } else { digit }));
            too_large |= next.is_none();
            found = next.unwrap_or(0);
        }
        if too_large {
            return Err(self.beyond());
        }
        Ok(found)
    }

    pub(crate) fn decimal(&self, value: i64) -> Result<Text<'a>> {
        self.made(value.to_string().into_bytes()).map(Text)
    }

    pub(crate) fn decimal_unsigned(&self, value: u64) -> Result<Text<'a>> {
        self.made(value.to_string().into_bytes()).map(Text)
    }

    pub(crate) fn joined(&self, one: Text<'_>, other: Text<'_>) -> Result<Text<'a>> {
        self.made([one.0, other.0].concat()).map(Text)
    }

    pub(crate) fn reversed(&self, text: Text<'_>) -> Result<Text<'a>> {
        let mut found = Vec::with_capacity(text.0.len());
        let mut stop = text.0.len();
        for start in characters(text).collect::<Vec<_>>().into_iter().rev() {
            found.extend_from_slice(&text.0[start..stop]);
            stop = start;
        }
        self.made(found).map(Text)
    }

    pub(crate) fn decoded(&self, data: &'a [u8], encoding: &str, upper: &str) -> Result<Text<'a>> {
        match decode(data, encoding, upper) {
            Ok(None) => Ok(Text(data)),
            Ok(Some(text)) => self.made(text.into_bytes()).map(Text),
            Err(_) => Err(self.wrong("", "an expression needs text")),
        }
    }

    // -- bytes and lists

    pub(crate) fn bytes_of(&self, items: &[i64]) -> Result<&'a [u8]> {
        self.all_bytes(items.iter().copied())
    }

    pub(crate) fn bytes_in<T: Copy>(&self, items: &List<T>) -> Result<&'a [u8]>
    where
        i128: From<T>,
    {
        items.with(|items| self.all_bytes(items.iter().map(|each| i128::from(*each))))
    }

    fn all_bytes<T>(&self, items: impl Iterator<Item = T>) -> Result<&'a [u8]>
    where
        u8: TryFrom<T>,
    {
        let found = items
            .map(|each| u8::try_from(each).ok())
            .collect::<Option<_>>();
        self.made(found.ok_or_else(|| self.wrong("", "an expression needs bytes"))?)
    }

    pub(crate) fn element_of<T: Clone>(&self, items: &List<T>, index: i64) -> Result<T> {
        items.with(|items| self.element(items, index).cloned())
    }

    pub(crate) fn byte_at(&self, data: &[u8], index: i64) -> Result<i64> {
        self.element(data, index).map(|each| i64::from(*each))
    }

    fn element<'b, T>(&self, items: &'b [T], index: i64) -> Result<&'b T> {
        let found = usize::try_from(index)
            .ok()
            .and_then(|index| items.get(index));
        found.ok_or_else(|| self.wrong("", "an expression needs an element"))
    }

    fn some<T>(&self, found: Option<T>) -> Result<T> {
        found.ok_or_else(|| self.wrong("", "an expression needs an element of an empty list"))
    }

    pub(crate) fn last_of<T: Clone>(&self, items: &List<T>) -> Result<T> {
        self.some(items.with(|items| items.last().cloned()))
    }

    pub(crate) fn min_of<T: Clone + PartialOrd>(&self, items: &List<T>) -> Result<T> {
        self.some(items.with(|items| best(items, Ordering::Less)))
    }

    pub(crate) fn max_of<T: Clone + PartialOrd>(&self, items: &List<T>) -> Result<T> {
        self.some(items.with(|items| best(items, Ordering::Greater)))
    }

    pub(crate) fn last_byte(&self, data: &[u8]) -> Result<i64> {
        self.some(data.last()).map(|each| i64::from(*each))
    }

    pub(crate) fn min_byte(&self, data: &[u8]) -> Result<i64> {
        self.some(data.iter().min()).map(|each| i64::from(*each))
    }

    pub(crate) fn max_byte(&self, data: &[u8]) -> Result<i64> {
        self.some(data.iter().max()).map(|each| i64::from(*each))
    }
}

/// The first of the elements that compare so with all before.
fn best<T: Clone + PartialOrd>(items: &[T], so: Ordering) -> Option<T> {
    let better = |one, other: &T| {
        if other.partial_cmp(&one) == Some(so) {
            other.clone()
        } else {
            one
        }
    };
    let (first, others) = items.split_first()?;
    Some(others.iter().fold(first.clone(), better))
}

/// A value of an instance from its first use on.
pub(crate) struct Kept<T> {
    value: OnceCell<T>,
    pub(crate) busy: Cell<bool>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            value: OnceCell::new(),
            busy: Cell::new(false),
        }
    }
}

impl<T: Clone> Kept<T> {
    pub(crate) fn get(&self) -> Option<T> {
        self.value.get().cloned()
    }

    pub(crate) fn keep(&self, value: T) -> T {
        self.value.get_or_init(|| value).clone()
    }
}

/// An instance that is read; it ends when this is dropped.
pub(crate) struct Visit<'a> {
    reading: &'a Reading<'a>,
    depth: usize,
    path: usize,
    sought: usize,
    busy: &'a Cell<bool>,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.reading.depth.set(self.depth);
        self.reading.path.borrow_mut().truncate(self.path);
        let mut sought = self.reading.sought.borrow_mut();
        while sought.len() > self.sought {
            if let Some(before) = sought.pop() {
                before.first.unwrap_or(before).turn.set(Some(before));
            }
        }
        self.busy.set(false);
    }
}

// -- what cannot fail

/// What was read, of an object that was read to its end, as all are that an application has.
pub(crate) fn read<T>(field: Option<T>) -> T {
    field.expect("an object that was read has its fields")
}

/// A size, a count or a position; what is larger is more than there are bytes too.
pub(crate) fn at_most(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A field of the bits of a number.
pub(crate) fn bits_at(bits: u64, shift: u32, width: u32) -> u64 {
    bits >> shift & u64::MAX >> (64 - width)
}

/// Bytes without what fills them up: `pad`, or -1, and what follows a terminator.
pub(crate) fn trimmed<'a>(data: &'a [u8], pad: i64, mark: &[u8], include: bool) -> &'a [u8] {
    let size = data.iter().rposition(|each| i64::from(*each) != pad);
    let data = &data[..size.map_or(0, |last| last + 1)];
    if mark.is_empty() {
        return data;
    }
    match data.chunks_exact(mark.len()).position(|each| each == mark) {
        Some(index) => &data[..(index + usize::from(include)) * mark.len()],
        None => data,
    }
}

/// Where the characters of a text start; each byte that is not UTF-8 is one.
fn characters(text: Text<'_>) -> impl Iterator<Item = usize> + '_ {
    let mut at = 0;
    text.0.utf8_chunks().flat_map(move |chunk| {
        let start = at;
        let invalid = start + chunk.valid().len();
        at = invalid + chunk.invalid().len();
        let valid = chunk.valid().char_indices();
        valid
            .map(move |(index, _)| start + index)
            .chain(invalid..at)
    })
}

/// The characters from one to before another; negative numbers count from the end.
pub(crate) fn substring(text: Text<'_>, start: i64, stop: i64) -> Text<'_> {
    let count = text.characters() as i64;
    let place = |at: i64| {
        let at = if at < 0 { at.saturating_add(count) } else { at };
        at.clamp(0, count) as usize
    };
    let (start, stop) = (place(start), place(stop));
    let byte = |index| characters(text).nth(index).unwrap_or(text.0.len());
    if start >= stop {
        return Text(&[]);
    }
    Text(&text.0[byte(start)..byte(stop)])
}

/// The text in bytes; None where it is these as they are. Text of UTF-8 and ASCII keeps bytes that are none.
fn decode(
    data: &[u8],
    encoding: &str,
    upper: &str,
) -> std::result::Result<Option<String>, &'static str> {
    match encoding {
        "UTF-8" | "ASCII" => return Ok(None),
        // in the order of its mark, and little-endian without one
        "UTF-16" => {
            return match data {
                [0xfe, 0xff, rest @ ..] => decode(rest, "UTF-16BE", upper),
                [0xff, 0xfe, rest @ ..] => decode(rest, "UTF-16LE", upper),
                _ => decode(data, "UTF-16LE", upper),
            }
        }
        "UTF-16LE" | "UTF-16BE" => {
            if data.len() % 2 != 0 {
                return Err("truncated data");
            }
            let units = data.chunks_exact(2).map(|two| match encoding {
                "UTF-16LE" => u16::from(two[1]) << 8 | u16::from(two[0]),
                _ => u16::from(two[0]) << 8 | u16::from(two[1]),
            });
            let found = char::decode_utf16(units).collect::<std::result::Result<_, _>>();
            return found.map(Some).map_err(|_| "illegal encoding");
        }
        "UTF-32LE" | "UTF-32BE" => {
            if data.len() % 4 != 0 {
                return Err("truncated data");
            }
            let units = data.chunks_exact(4).map(|four| match encoding {
                "UTF-32LE" => u32::from_le_bytes(rt::part(four, 0)),
                _ => u32::from_be_bytes(rt::part(four, 0)),
            });
            let found = units.map(char::from_u32).collect::<Option<_>>();
            return found.map(Some).ok_or("code point not in range");
        }
        _ => {}
    }
    let table: Vec<char> = upper.chars().collect();
    let character = |each: &u8| match each.checked_sub(0x80) {
        None => Some(char::from(*each)),
        // without a table, a byte is the character of its number
        Some(index) if table.is_empty() => Some(char::from(index + 0x80)),
        Some(index) => table
            .get(usize::from(index))
            .copied()
            .filter(|found| *found != '\u{fffd}'),
    };
    let found = data.iter().map(character).collect::<Option<_>>();
    found.map(Some).ok_or("a byte is no character")
}

// -- what fields are derived from

/// A CRC of a width with the most significant bit of each byte first.
fn upwards(data: &[u8], width: u32, poly: u32, start: u32) -> u32 {
    let (shift, mut found) = (32 - width, start << (32 - width));
    for each in data {
        found ^= u32::from(*each) << 24;
        for _ in 0..8 {
            found = found << 1 ^ if found >> 31 == 1 { poly << shift } else { 0 };
        }
    }
    found >> shift
}

/// A CRC with the least significant bit of each byte first.
fn downwards(data: &[u8], poly: u32, start: u32) -> u32 {
    let mut found = start;
    for each in data {
        found ^= u32::from(*each);
        for _ in 0..8 {
            found = found >> 1 ^ if found & 1 == 1 { poly } else { 0 };
        }
    }
    found
}

fn adler32(data: &[u8]) -> u32 {
    let (mut low, mut high) = (1, 0);
    for each in data {
        low = (low + u32::from(*each)) % 65521;
        high = (high + low) % 65521;
    }
    high << 16 | low
}

fn internet_checksum(data: &[u8]) -> u32 {
    let mut found = sum_of(data, 2, false);
    while found >> 16 != 0 {
        found = (found & 0xFFFF) + (found >> 16);
    }
    found as u32 ^ 0xFFFF
}

/// The checksum that has a name.
pub(crate) fn checksum(name: &str, data: &[u8]) -> i64 {
    let found = match name {
        "crc32" => !downwards(data, 0xEDB8_8320, !0),
        "crc32c" => !downwards(data, 0x82F6_3B78, !0),
        "crc32_mpeg2" => upwards(data, 32, 0x04C1_1DB7, !0),
        "crc32_bzip2" => !upwards(data, 32, 0x04C1_1DB7, !0),
        "crc32_ogg" => upwards(data, 32, 0x04C1_1DB7, 0),
        "crc16_arc" => downwards(data, 0xA001, 0),
        "crc16_ccitt" => upwards(data, 16, 0x1021, 0xFFFF),
        "crc16_xmodem" => upwards(data, 16, 0x1021, 0),
        "adler32" => adler32(data),
        "internet_checksum" => internet_checksum(data),
        _ => data.iter().fold(0, |found, each| found ^ u32::from(*each)),
    };
    i64::from(found)
}

/// The sum of numbers of a size; a partial one at the end is filled with zeros.
pub(crate) fn sum_of(data: &[u8], size: usize, little: bool) -> u64 {
    let parts = data.iter().enumerate().map(|(at, each)| {
        let place = if little {
            at % size
        } else {
            size - 1 - at % size
        };
        u64::from(*each) << (8 * place)
    });
    parts.sum()
}
