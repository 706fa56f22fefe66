/** What generated readers of streamed schemas share: streams, objects, and what expressions compute. */

import { createHash } from "node:crypto";
import { gunzipSync, inflateRawSync, inflateSync } from "node:zlib";

import {
  crc32,
  crc32c,
  type ErrorCode,
  FormatError,
  notEncodable,
  Reader,
  type ReadOptions,
  Writer,
} from "./runtime.js";
import type { Followed, Sink, Solve, Solvers } from "./streams_writing.js";

/** That bits of a byte were left when an instance was read. */
const FORGOTTEN = -1;
const SPARE = 4096;
const MOST_SHIFT = 128n;
const MOST_DECOMPRESSED = 256 * 2 ** 20;

/** The compressed bytes of those that were read, which are written again for the same ones. */
export const packed = new WeakMap<Uint8Array, Uint8Array>();

/** What all streams of one input have in common. */
class Reading {
  readonly options: ReadOptions;
  readonly path: string[] = [];
  /** What was read before an instance at a position. */
  readonly sought: Source[] = [];
  depth = 0;
  /** Elements without bytes, and how many there may be. */
  empty = 0;
  room: number;
  /** Bytes that were decompressed. */
  inflated = 0;
  /** Objects with fields that are derived of what is around them. */
  readonly unchecked: { _check(): void }[] = [];

  constructor(options: ReadOptions, room: number) {
    this.options = options;
    this.room = room;
  }

  get maxElements(): number {
    return this.options.maxElements ?? 4_000_000;
  }
  get maxDecompressed(): number {
    return this.options.maxDecompressed ?? MOST_DECOMPRESSED;
  }
  get maxDepth(): number {
    return this.options.maxDepth ?? 100;
  }

  /** Compares the derived fields of objects whose surroundings are read. */
  check(): void {
    for (let next = this.unchecked.pop(); next; next = this.unchecked.pop()) next._check();
  }

  failed(
    code: ErrorCode,
    name: string,
    reason: string,
    at: number,
    need?: unknown,
    have?: unknown,
  ): FormatError {
    const path = [...this.path, name].filter((each) => each !== "").join(".");
    return new FormatError(code, { path, reason, at, need, have });
  }
}

/** Bytes that objects are read from. Several may read one stream, each at its own position. */
export class Source {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly base: number;
  readonly end: number;
  /** The next byte; after the end where a position is. */
  at: number;
  readonly reading: Reading;
  /** Which of those that read this stream does at the moment. */
  private readonly turn: [Source?];
  private held = 0n;
  private left = 0;

  constructor(
    reading: Reading,
    bytes: Uint8Array,
    base: number,
    end: number,
    at = base,
    turn: [Source?] = [],
  ) {
    this.reading = reading;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.base = base;
    this.end = end;
    this.at = at;
    this.turn = turn;
    turn[0] = this;
  }

  get origin(): number {
    return this.base;
  }

  /** What is left of an input. */
  static of(r: Reader): Source {
    return new Source(new Reading(r.options, r.end - r.pos + SPARE), r.bytes, r.pos, r.end);
  }

  fail(code: ErrorCode, name: string, reason: string, at: number, need?: unknown, have?: unknown): never {
    throw this.reading.failed(code, name, reason, at, need, have);
  }

  /** The one that reads this stream at the moment. */
  current(): Source {
    return this.turn[0] ?? this;
  }
  pos(): bigint {
    return BigInt(this.current().at - this.base);
  }
  size(): bigint {
    return BigInt(this.end - this.base);
  }
  eof(): boolean {
    return this.current().isAtEnd();
  }
  isAtEnd(): boolean {
    return this.at >= this.end && this.left <= 0;
  }
  ago(size: bigint): bigint {
    return BigInt(this.at) - size;
  }

  /** Skips the next bytes, and returns where they are. */
  skip(name: string, size: bigint | number): number {
    if (size < 0) this.fail("malformed", name, "negative size", this.at, "at least 0", size);
    const left = this.end - this.at;
    if (size > 0 && size > left) this.fail("truncated", name, "", this.at, size, Math.max(0, left));
    const start = Math.min(this.at, this.end);
    this.at += Number(size);
    return start;
  }

  /** The next bytes; they are a part of the input, not a copy. */
  take(name: string, size: bigint | number): Uint8Array {
    const start = this.skip(name, size);
    return this.bytes.subarray(start, start + Number(size));
  }
  rest(): Uint8Array {
    return this.take("", Math.max(0, this.end - this.at));
  }

  /** Skips neighbors of fixed width; an error names the first that is not whole. */
  run(size: number, ...fields: [string, number][]): number {
    if (size > this.end - this.at) for (const [name, width] of fields) this.skip(name, width);
    return this.skip("", size);
  }
  part8(start: number, size: number): Uint8Array {
    return this.bytes.subarray(start, start + size);
  }

  contents(name: string, need: Uint8Array): Uint8Array {
    const have = this.take(name, need.length);
    if (!same(have, need))
      this.fail("malformed", name, "wrong fixed bytes", this.at - have.length, need, have);
    return have;
  }

  /** The bytes up to a terminator, which stands at a whole number of its own size. */
  until(name: string, mark: Uint8Array, include: boolean, consume: boolean, needed: boolean): Uint8Array {
    const unit = mark.length;
    const start = this.at;
    for (let stop = start; stop <= this.end - unit; stop += unit) {
      if (!same(this.bytes.subarray(stop, stop + unit), mark)) continue;
      this.at = stop + (consume ? unit : 0);
      return this.bytes.subarray(start, stop + (include ? unit : 0));
    }
    if (needed) this.fail("truncated", name, "no terminator", this.at, unit, 0);
    return this.rest();
  }

  /** Drops the bits that are left of a byte. */
  align(): void {
    this.held = 0n;
    this.left = 0;
  }

  /** The next bits of a width; `little` takes the lowest bits of a byte first. */
  bits(name: string, width: bigint, little: boolean): bigint {
    const need = Number(width);
    const size = Math.floor((need - this.left + 7) / 8);
    if (size > 0) {
      if (this.left === FORGOTTEN) {
        const reason = "bits of the byte before were left when an instance was read";
        this.fail("unsupported", name, reason, this.at);
      }
      const start = this.skip(name, size);
      for (const byte of this.bytes.subarray(start, start + size)) {
        if (little) this.held |= BigInt(byte) << BigInt(this.left);
        else this.held = (this.held << 8n) | BigInt(byte);
        this.left += 8;
      }
    }
    this.left -= need;
    const shift = BigInt(little ? need : this.left);
    const high = this.held >> shift;
    const low = this.held & ((1n << shift) - 1n);
    this.held = little ? high : low;
    return little ? low : high;
  }

  part(name: string, size: bigint): Source {
    const start = this.skip(name, size);
    return new Source(this.reading, this.bytes, start, start + Number(size));
  }
  remaining(): Source {
    const start = Math.min(this.at, this.end);
    this.at = Math.max(this.at, this.end);
    return new Source(this.reading, this.bytes, start, this.end);
  }

  /** A stream of bytes that are not those of the input. */
  inside(data: Uint8Array): Source {
    this.reading.room += data.length;
    return new Source(this.reading, data, 0, data.length);
  }

  /** The stream at a position; what was read of it before goes on from where it stood. */
  seek(name: string, pos: bigint): Source {
    const before = this.current();
    if (before.left !== 0) {
      before.held = 0n;
      before.left = FORGOTTEN;
    }
    if (pos < 0n) this.fail("malformed", name, "negative position", this.base, "at least 0", pos);
    this.reading.sought.push(before);
    return new Source(this.reading, this.bytes, this.base, this.end, this.base + Number(pos), this.turn);
  }
  /** Goes on where the stream stood. */
  back(): void {
    this.turn[0] = this;
  }

  refuse(name: string, at: bigint, need: unknown, have: unknown): never {
    this.fail("malformed", name, "value not allowed", Number(at), need, have);
  }

  counted(name: string, count: bigint, least: number, isWatched: boolean): Walk {
    const room = least > 0 ? Math.max(0, this.end - this.at) : 8 * this.reading.room;
    if (count < 0n) this.fail("malformed", name, "negative count", this.at, "at least 0", count);
    if (least > 0 && count * BigInt(least) > room) {
      this.fail("truncated", name, "", this.at, count * BigInt(least), room);
    }
    if (count > room) this.fail("limit_exceeded", name, "more elements than bytes", this.at, count, room);
    if (count > this.reading.maxElements) this.tooMany(name);
    return new Walk(this, name, Number(count), isWatched, false);
  }
  toEnd(name: string): Walk {
    return new Walk(this, name, undefined, false, true);
  }
  repeated(name: string): Walk {
    return new Walk(this, name, undefined, true, false);
  }
  tooMany(name: string): never {
    const most = this.reading.maxElements;
    this.fail("limit_exceeded", name, "too many elements", this.at, most + 1, most);
  }
  /** Where the stream stands, in bits. */
  get place(): string {
    return `${String(this.at)}.${String(this.left)}`;
  }

  text(name: string, data: Uint8Array, encoding: string, upper: string): string {
    const found = decode(data, encoding, upper);
    if (found === undefined) this.fail("malformed", name, `not ${encoding}`, this.at);
    return found;
  }

  private within(name: string, data: Uint8Array, process: string): number {
    const limit = this.reading.maxDecompressed;
    const start = this.at - data.length;
    if (data.length > limit) this.fail("limit_exceeded", name, process, start, limit + 1, limit);
    return start;
  }
  xor(name: string, data: Uint8Array, key: bigint): Uint8Array {
    const start = this.within(name, data, "xor");
    if (key < 0n || key > 255n) this.fail("malformed", name, `xor: the key ${String(key)} is no byte`, start);
    return this.xorAll(name, data, Uint8Array.of(Number(key)));
  }
  xorAll(name: string, data: Uint8Array, key: Uint8Array): Uint8Array {
    const start = this.within(name, data, "xor");
    if (key.length === 0) this.fail("malformed", name, "xor: the key is empty", start);
    return data.map((each, index) => each ^ (key[index % key.length] ?? 0));
  }
  rol(name: string, data: Uint8Array, by: bigint): Uint8Array {
    this.within(name, data, "rol");
    const shift = Number(((by % 8n) + 8n) % 8n);
    return data.map((each) => (each << shift) | (each >> (8 - shift)));
  }
  ror(name: string, data: Uint8Array, by: bigint): Uint8Array {
    return this.rol(name, data, -by);
  }
  zlib(name: string, data: Uint8Array): Uint8Array {
    const limit = this.reading.maxDecompressed - this.reading.inflated;
    const start = this.at - data.length;
    let made: Uint8Array;
    try {
      made = inflateSync(data, { maxOutputLength: Math.max(1, limit) });
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (code === "ERR_BUFFER_TOO_LARGE") this.fail("limit_exceeded", name, "zlib", start, limit + 1, limit);
      const reason = code === "Z_BUF_ERROR" ? "the data have no end" : String(error);
      this.fail("malformed", name, `zlib: ${reason}`, start);
    }
    if (made.length > limit) this.fail("limit_exceeded", name, "zlib", start, limit + 1, limit);
    this.reading.inflated += made.length;
    const found = new Uint8Array(made.buffer, made.byteOffset, made.length);
    packed.set(found, data);
    return found;
  }
}

/** Goes from element to element of a list. */
export class Walk {
  private readonly io: Source;
  private readonly name: string;
  private readonly count: number | undefined;
  private readonly isWatched: boolean;
  private readonly toEnd: boolean;
  private place = "";
  private at = 0;
  private number = 0;

  constructor(io: Source, name: string, count: number | undefined, isWatched: boolean, toEnd: boolean) {
    this.io = io;
    this.name = name;
    this.count = count;
    this.isWatched = isWatched;
    this.toEnd = toEnd;
  }

  get index(): bigint {
    return BigInt(this.number);
  }

  /** Whether there is another element. */
  more(): boolean {
    const { io } = this;
    if (this.toEnd && io.isAtEnd()) return false;
    if (this.toEnd && io.place === this.place) {
      io.fail("malformed", this.name, "an element without bytes would repeat forever", io.at);
    }
    this.place = io.place;
    this.at = io.at;
    if (this.count !== undefined) return this.number < this.count;
    if (this.number >= io.reading.maxElements) io.tooMany(this.name);
    return true;
  }

  /** Ends an element. */
  done(): void {
    const { io } = this;
    if (this.isWatched && this.place === io.place && ++io.reading.empty > io.reading.room) {
      const reason = "more elements without bytes than there are bytes";
      io.fail("limit_exceeded", this.name, reason, this.at, io.reading.empty, io.reading.room);
    }
    this.number++;
  }
}

/** Bytes that were read, or are written, in which fields have their places. */
export interface Marked {
  readonly at: number;
  /** The place of the first byte of the stream. */
  readonly origin: number;
  readonly bytes: Uint8Array;
}

/** Where the bytes of a field are. */
interface Span {
  readonly io: Marked;
  readonly start: number;
  readonly stop: number;
}

/** An instance: its value from the first use on. */
export interface Kept<T> {
  value: T | null;
  isReading: boolean;
  /** Where it was read, and what from. */
  start?: number;
  source?: Source;
}

/** An instance at a position, as a writer needs it. */
export interface Placement {
  readonly name: string;
  /** What errors call it. */
  readonly label: string;
  readonly kept: Kept<unknown>;
  readonly position: () => bigint;
  /** Its stream, if that is not the object's own. */
  readonly stream: (() => unknown) | null;
  /** Whether the position depends on where the stream stood. */
  readonly isKept: boolean;
  readonly solve: Solve | null;
  /** The fields that its position is computed of, where it is not known how to change them. */
  readonly of: string;
  /** A position that is chosen is a multiple of it, with the byte `fill` in front of it; 0 is any. */
  readonly align: number;
  readonly fill: number;
  readonly write: (io: Sink) => void;
}

/** Where bytes are read or written. */
export interface Stream {
  pos(): bigint;
  size(): bigint;
  eof(): boolean;
}

/** An object of a streamed schema: it knows its stream, the object that it is a part of, and the outermost one. */
export abstract class StreamedObject {
  _io!: Source;
  _parent: StreamedObject | null = null;
  _root: StreamedObject = this;
  _seen = 0n;
  /** Where the bytes of fields are that others are derived from. */
  _spans: Span[] | undefined = undefined;
  _start = 0;
  _stop = 0;
  /** What it is written to, while it is. */
  declare _out: Sink | undefined;
  declare _taught: Solvers | undefined;
  private _depth = 0;
  private _order = 0;

  /** Begins to read the object; `index` is -1 outside of lists. */
  _begin(
    io: Source,
    name: string,
    index: bigint,
    parent: StreamedObject | null,
    root: StreamedObject | null,
  ): void {
    const { reading } = io;
    const step = index < 0n ? name : `${name}[${String(index)}]`;
    if (reading.depth >= reading.maxDepth) {
      io.fail("limit_exceeded", step, "nested too deep", io.at, reading.depth + 1, reading.maxDepth);
    }
    this._io = io;
    this._parent = parent;
    this._start = io.at;
    this._depth = ++reading.depth;
    if (parent !== null) this._order = parent._order;
    this._root = root ?? parent?._root ?? this;
    if (name !== "") reading.path.push(step);
  }
  _finish(name: string): void {
    this._stop = this._io.at;
    this._io.reading.depth--;
    if (name !== "") this._io.reading.path.pop();
  }

  /** Reads an instance, which may be long after the object was read. */
  _visit<T>(kept: Kept<T>, name: string, read: () => T | null): T | null {
    const io = this._source();
    if (kept.value !== null || io === undefined) return kept.value;
    const { reading } = io;
    if (kept.isReading) io.fail("malformed", name, "the instance needs itself", this._start);
    const deep = Math.max(reading.depth, this._depth);
    if (deep >= reading.maxDepth) {
      io.fail("limit_exceeded", name, "nested too deep", this._start, deep + 1, reading.maxDepth);
    }
    const before = { depth: reading.depth, path: reading.path.length, sought: reading.sought.length };
    kept.isReading = true;
    reading.depth = deep + 1;
    try {
      kept.value = read();
      return kept.value;
    } finally {
      reading.depth = before.depth;
      reading.path.length = before.path;
      while (reading.sought.length > before.sought) reading.sought.pop()?.back();
      kept.isReading = false;
    }
  }

  /** Notes where an instance is read. */
  _at(kept: Kept<unknown>, io: Source): Source {
    kept.start = io.at - io.base;
    kept.source = io;
    return io;
  }
  /** Sets an instance. What stood there is read first: its place is known then. */
  _give<T>(kept: Kept<T>, value: T | null, read: () => unknown): void {
    if (this._source() !== undefined && kept.source === undefined) {
      try {
        read();
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
      }
    }
    kept.value = value;
  }

  /** What it was read from; undefined of a new object. */
  _source(): Source | undefined {
    return this._io;
  }
  /** The stream that it is written to, or was read from. */
  get _stream(): Stream {
    return (
      this._out ?? this._source() ?? this._wrong("", "the object was not read, so that it has no stream")
    );
  }
  /** Has it be a part of another object, which is written. */
  _join(parent: StreamedObject | null, root: StreamedObject | null): void {
    this._parent = parent;
    if (parent !== null) this._order = parent._order;
    this._root = root ?? parent?._root ?? this;
  }
  _write(io: Sink): void {
    throw notEncodable("", "objects of this type are only read", io.pos());
  }
  /** One that is read again from other bytes. */
  _again(io: Source): StreamedObject {
    io.fail("unsupported", "", "objects of this type are only parts of others", io.at);
  }
  /** The fields that are computed where they are empty. */
  _followed(): readonly Followed[] {
    return [];
  }
  /** How what value instances are computed of follows from them. */
  _solvers(): Solvers {
    return {};
  }
  /** The instances at positions. */
  _placements(): readonly Placement[] {
    return [];
  }
  /** Computes the fields that are derived of bytes, which are there now. */
  _derive(io: Sink): void {
    // nothing is derived; whole bytes are there already
    io.align();
  }
  /** Whether bytes after it that nothing describes move with its end. */
  _tailMoves(): boolean {
    return false;
  }

  /** Sets the byte order: 1 is little-endian, 2 big-endian, 0 not known. */
  _setOrder(order: number): void {
    this._order = order;
  }
  /** The byte order, which bytes said. */
  _isLittle(): boolean {
    if (this._order === 0) {
      throw this._failed("malformed", "", "no byte order is known for this value", this._start);
    }
    return this._order === 1;
  }
  /** An error about a field that is not what it is derived from. */
  _differs(name: string, isChecksum: boolean, need: unknown, have: unknown): never {
    if (isChecksum) this._io.fail("bad_checksum", name, "", this._start, have, need);
    this._io.fail("malformed", name, "not what it is derived from", this._start, need, have);
  }
  /** An error at the position of the object's stream. */
  _wrong(name: string, reason: string): never {
    throw this._failed("malformed", name, reason, this._source()?.at ?? 0);
  }
  _failed(code: ErrorCode, name: string, reason: string, at: number): FormatError {
    const reading = this._out === undefined ? this._source()?.reading : undefined;
    return reading?.failed(code, name, reason, at) ?? new FormatError(code, { path: name, reason });
  }
}

// -- values that expressions need

type Kind<T> = abstract new (...given: never[]) => T;

/** A value as one of a class; null if it is of another. */
export function as<T>(kind: Kind<T>, value: unknown): T {
  return (value instanceof kind ? value : null) as T;
}
export function required<T>(x: StreamedObject, value: T, name: string, reason: string): NonNullable<T> {
  return value ?? x._wrong(name, reason);
}
/** A field that must have been read. */
export function asked<T>(
  x: StreamedObject,
  seen: bigint,
  bit: bigint,
  value: T,
  name: string,
  reason: string,
): T {
  const isWhole = x._out !== undefined || x._source() === undefined;
  return !isWhole && ((seen >> bit) & 1n) === 0n ? x._wrong(name, reason) : value;
}

export const signed = (_x: StreamedObject, value: bigint): bigint => value;
export const atMost = signed;
export const unsigned = (_x: StreamedObject, value: bigint): bigint => value;

function near(x: StreamedObject, value: bigint): bigint {
  if (value > 1n << 256n || value < -(1n << 256n)) {
    throw x._failed("limit_exceeded", "", "an expression exceeds 256 bits", x._source()?.at ?? 0);
  }
  return value;
}
export const plus = (_x: StreamedObject, a: bigint, b: bigint): bigint => a + b;
export const minus = (_x: StreamedObject, a: bigint, b: bigint): bigint => a - b;
export const times = (x: StreamedObject, a: bigint, b: bigint): bigint => near(x, a * b);
export function divided(x: StreamedObject, a: bigint, b: bigint): bigint {
  if (b === 0n) x._wrong("", "an expression divides by 0");
  const found = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? found - 1n : found;
}
export function modulo(x: StreamedObject, a: bigint, b: bigint): bigint {
  return a - b * divided(x, a, b);
}
export const negated = (_x: StreamedObject, a: bigint): bigint => -a;
export const inverted = (_x: StreamedObject, a: bigint): bigint => ~a;
export const both = (_x: StreamedObject, a: bigint, b: bigint): bigint => a & b;
export const bothUnsigned = both;
export const either = (_x: StreamedObject, a: bigint, b: bigint): bigint => a | b;
export const differing = (_x: StreamedObject, a: bigint, b: bigint): bigint => a ^ b;
export function shiftedLeft(x: StreamedObject, a: bigint, by: bigint): bigint {
  if (by < -MOST_SHIFT || by > MOST_SHIFT) x._wrong("", "an expression shifts by too many bits");
  return near(x, by < 0n ? a >> -by : a << by);
}
export const shiftedRight = (x: StreamedObject, a: bigint, by: bigint): bigint => shiftedLeft(x, a, -by);
export const shiftedRightUnsigned = shiftedRight;
/** A field of the bits of a number. */
export function bitsAt(bits: bigint, shift: bigint, width: bigint): bigint {
  return (bits >> shift) & ((1n << width) - 1n);
}

export const plusReal = (_x: StreamedObject, a: number, b: number): number => a + b;
export const minusReal = (_x: StreamedObject, a: number, b: number): number => a - b;
export const timesReal = (_x: StreamedObject, a: number, b: number): number => a * b;
export const negatedReal = (_x: StreamedObject, a: number): number => -a;
export function dividedReal(x: StreamedObject, a: number, b: number): number {
  return b === 0 ? x._wrong("", "an expression divides by 0") : a / b;
}
export function moduloReal(x: StreamedObject, a: number, b: number): number {
  if (b === 0) x._wrong("", "an expression divides by 0");
  const found = a % b;
  return found !== 0 && found < 0 !== b < 0 ? found + b : found;
}
export function truncated(x: StreamedObject, value: number): bigint {
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : x._wrong("", "an expression needs a number");
}

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";
const PREFIXES: Readonly<Record<string, string>> = { "16": "0x", "8": "0o", "2": "0b" };

/** The number that digits to a base stand for. */
export function numberOf(x: StreamedObject, text: string, base: bigint): bigint {
  const parts = /^\s*([+-]?)(\S*)\s*$/.exec(text.toLowerCase());
  let digits = parts?.[2] ?? "";
  const prefix = PREFIXES[String(base)];
  if (prefix !== undefined && digits.startsWith(prefix)) digits = digits.slice(2).replace(/^_/, "");
  const known = DIGITS.slice(0, Number(base));
  const plain = digits.replaceAll("_", "");
  if (/^_|_$|__/.test(digits) || plain === "" || Array.from(plain).some((each) => !known.includes(each))) {
    x._wrong("", "an expression needs a number");
  }
  let found = 0n;
  for (const each of plain) found = near(x, found * base + BigInt(known.indexOf(each)));
  return parts?.[1] === "-" ? -found : found;
}
export const decimal = (_x: StreamedObject, value: bigint): string => String(value);
export const decimalUnsigned = decimal;
export const sizeOfText = (_x: StreamedObject, text: string): bigint => BigInt(Array.from(text).length);
export const reversed = (_x: StreamedObject, text: string): string => Array.from(text).reverse().join("");
export function substring(_x: StreamedObject, text: string, start: bigint, stop: bigint): string {
  return Array.from(text).slice(Number(start), Number(stop)).join("");
}
/** The order of two texts, by their characters. */
export function compare(one: string, other: string): number {
  const [a, b] = [Array.from(one), Array.from(other)];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const found = (a[i]?.codePointAt(0) ?? 0) - (b[i]?.codePointAt(0) ?? 0);
    if (found !== 0) return found;
  }
  return a.length - b.length;
}

export function same(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
export function compareBytes(one: Uint8Array, other: Uint8Array): number {
  for (let i = 0; i < Math.min(one.length, other.length); i++) {
    const found = (one[i] ?? 0) - (other[i] ?? 0);
    if (found !== 0) return found;
  }
  return one.length - other.length;
}

/** Bytes without what fills them up: `pad`, or -1, and what follows a terminator. */
export function trimmed(
  _x: StreamedObject,
  data: Uint8Array,
  pad: bigint,
  mark: Uint8Array | null,
  include: boolean,
): Uint8Array {
  let size = data.length;
  while (size > 0 && data[size - 1] === Number(pad)) size--;
  const unit = mark?.length ?? 0;
  for (let at = 0; mark !== null && at + unit <= size; at += unit) {
    if (same(data.subarray(at, at + unit), mark)) return data.subarray(0, at + (include ? unit : 0));
  }
  return data.subarray(0, size);
}
export function bytesOf(x: StreamedObject, ...items: bigint[]): Uint8Array {
  if (items.some((each) => each < 0n || each > 255n)) x._wrong("", "an expression needs bytes");
  return Uint8Array.from(items, Number);
}
export function bytesIn(x: StreamedObject, items: readonly (number | bigint)[]): Uint8Array {
  return bytesOf(x, ...items.map(BigInt));
}
export function elementOf<T>(x: StreamedObject, items: readonly T[], index: bigint): T {
  if (index < 0n || index >= items.length) x._wrong("", "an expression needs an element");
  return items[Number(index)] as T;
}
export function byteAt(x: StreamedObject, data: Uint8Array, index: bigint): bigint {
  if (index < 0n || index >= data.length) x._wrong("", "an expression needs an element");
  return BigInt(data[Number(index)] ?? 0);
}
function some(x: StreamedObject, size: number): void {
  if (size === 0) x._wrong("", "an expression needs an element of an empty list");
}
export function lastOf<T>(x: StreamedObject, items: readonly T[]): T {
  some(x, items.length);
  return items[items.length - 1] as T;
}
function isLess(one: unknown, other: unknown): boolean {
  if (typeof one === "string" && typeof other === "string") return compare(one, other) < 0;
  return (one as number) < (other as number);
}
export function minOf<T>(x: StreamedObject, items: readonly T[]): T {
  return items.reduce((one, other) => (isLess(other, one) ? other : one), lastOf(x, items));
}
export function maxOf<T>(x: StreamedObject, items: readonly T[]): T {
  return items.reduce((one, other) => (isLess(one, other) ? other : one), lastOf(x, items));
}
export const lastByte = (x: StreamedObject, data: Uint8Array): bigint => BigInt(lastOf(x, Array.from(data)));
export const minByte = (x: StreamedObject, data: Uint8Array): bigint => BigInt(minOf(x, Array.from(data)));
export const maxByte = (x: StreamedObject, data: Uint8Array): bigint => BigInt(maxOf(x, Array.from(data)));

export function decoded(x: StreamedObject, data: Uint8Array, encoding: string, upper: string): string {
  return decode(data, encoding, upper) ?? x._wrong("", "an expression needs text");
}

/** A number as text of as many digits as there were. */
export function digits(_x: StreamedObject, value: bigint, base: bigint, like: string): string {
  return (value < 0n ? 0n : value).toString(Number(base)).padStart(like.length, "0");
}

/** The bytes of a text; undefined if the encoding does not have it. */
export function encode(name: string, text: string, encoding: string, upper: string): Uint8Array | undefined {
  if (encoding === "UTF-8" || encoding === "ASCII") {
    const w = new Writer({}, text.length);
    w.chars(name, text, encoding === "ASCII");
    return w.finish();
  }
  const wide = encoding.startsWith("UTF-16") ? 2 : encoding.startsWith("UTF-32") ? 4 : 0;
  const signs = Array.from(text, (each) => each.codePointAt(0) ?? 0);
  if (wide > 0 && signs.some((each) => each >= 0xd800 && each < 0xe000)) return undefined;
  if (wide > 0) {
    const units = wide === 2 ? Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)) : signs;
    const view = new DataView(new ArrayBuffer(wide * units.length));
    units.forEach((unit, at) => {
      if (wide === 2) view.setUint16(2 * at, unit, !encoding.endsWith("BE"));
      else view.setUint32(4 * at, unit, !encoding.endsWith("BE"));
    });
    return new Uint8Array(view.buffer);
  }
  const found = signs.map((each) => {
    if (each < 0x80 || (upper === "" && each < 0x100)) return each;
    const at = each > 0xffff || each === 0xfffd ? -1 : upper.indexOf(String.fromCharCode(each));
    return at < 0 ? -1 : 0x80 + at;
  });
  return found.includes(-1) ? undefined : Uint8Array.from(found);
}

/** The text in bytes; undefined if these are none. UTF-8 and ASCII keep bytes that are none. */
function decode(data: Uint8Array, encoding: string, upper: string): string | undefined {
  if (encoding === "UTF-8" || encoding === "ASCII") {
    return new Reader(data).chars("", data.length, encoding === "ASCII");
  }
  if (encoding === "UTF-16") {
    // in the order of its mark, and little-endian without one
    const big = data[0] === 0xfe && data[1] === 0xff;
    return decodeUnits(big || (data[0] === 0xff && data[1] === 0xfe) ? data.subarray(2) : data, 2, !big);
  }
  if (encoding.startsWith("UTF-16")) return decodeUnits(data, 2, encoding.endsWith("LE"));
  if (encoding.startsWith("UTF-32")) return decodeUnits(data, 4, encoding.endsWith("LE"));
  const text = Array.from(data, (each) => {
    return each < 0x80 || upper === "" ? String.fromCharCode(each) : upper.charAt(each - 0x80);
  }).join("");
  return text.includes("\uFFFD") ? undefined : text;
}

function decodeUnits(data: Uint8Array, size: number, little: boolean): string | undefined {
  if (data.length % size !== 0) return undefined;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let text = "";
  for (let at = 0; at < data.length; at += size) {
    const code = size === 2 ? view.getUint16(at, little) : view.getUint32(at, little);
    if (size === 4 && (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))) return undefined;
    text += size === 2 ? String.fromCharCode(code) : String.fromCodePoint(code);
  }
  return size === 2 && /\p{Surrogate}/u.test(text) ? undefined : text;
}

// -- what fields are derived from

/** Whether derived fields are compared. */
export function checks(x: StreamedObject, isChecksum: boolean): boolean {
  const { ignoreChecksums, ignoreDerived } = x._io.reading.options;
  return !(isChecksum ? ignoreChecksums : ignoreDerived);
}

/** Notes where a field begins, or where it ends. */
export function mark(x: StreamedObject, io: Marked, index: bigint, _count: bigint, isEnd: boolean): void {
  const spans = (x._spans ??= []);
  const start = isEnd ? (spans[Number(index)]?.start ?? io.at) : io.at;
  spans[Number(index)] = { io, start, stop: io.at };
}

function spanOf(of: StreamedObject | null, index: bigint, name: string): Span {
  const object = of as StreamedObject;
  return object._spans?.[Number(index)] ?? object._wrong(name, "its bytes are needed, and it is not there");
}

/** Where a field begins in its stream. */
export function position(_x: StreamedObject, of: StreamedObject | null, index: bigint, name: string): bigint {
  const found = spanOf(of, index, name);
  return BigInt(found.start - found.io.origin);
}

/** The bytes from one field of an object to another. Those of the field `own` of `x` count as `blank`. */
export function between(
  x: StreamedObject,
  of: StreamedObject | null,
  first: bigint,
  name: string,
  last: bigint,
  lastName: string,
  own: bigint,
  blank: bigint,
): Uint8Array {
  const { io, start } = spanOf(of, first, name);
  const { stop } = spanOf(of, last, lastName);
  const data = io.bytes.subarray(start, Math.max(start, stop));
  const held = own < 0n ? undefined : x._spans?.[Number(own)];
  if (held === undefined || held.start >= stop || held.stop <= start) return data;
  return data.slice().fill(Number(blank), Math.max(0, held.start - start), held.stop - start);
}

const INFLATED = { deflate: inflateRawSync, gzip: gunzipSync, zlib: inflateSync };

/** The first stream of gzip, of which Node would read all that follow. */
function gzipped(data: Uint8Array): Uint8Array {
  const flags = data[3] ?? 0;
  let at = 10;
  if (flags & 4) at += 2 + (data[at] ?? 0) + 256 * (data[at + 1] ?? 0);
  for (const flag of [8, 16]) if (flags & flag) at = data.indexOf(0, at) + 1;
  if (flags & 2) at += 2;
  const found: unknown = inflateRawSync(data.subarray(at), { info: true });
  return data.subarray(0, at + (found as { engine: { bytesWritten: number } }).engine.bytesWritten + 8);
}

/** What bytes decompress to, if they begin with a whole stream. */
export function unpacked(x: StreamedObject, data: Uint8Array, form: string, name: string): Uint8Array {
  const limit = x._source()?.reading.maxDecompressed ?? MOST_DECOMPRESSED;
  try {
    const first = form === "gzip" ? gzipped(data) : data;
    const made = INFLATED[form as keyof typeof INFLATED](first, { maxOutputLength: Math.max(1, limit) });
    return new Uint8Array(made.buffer, made.byteOffset, made.length);
  } catch {
    return x._wrong(name, `it is no whole ${form} stream`);
  }
}

/** A CRC of a width with the most significant bit of each byte first. */
function upwards(data: Uint8Array, width: number, poly: number, start: number): number {
  let found = start << (32 - width);
  for (const byte of data) {
    found ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) found = (found << 1) ^ (found < 0 ? poly << (32 - width) : 0);
  }
  return found >>> (32 - width);
}
function crc16(data: Uint8Array): number {
  let found = 0;
  for (const byte of data) {
    found ^= byte;
    for (let bit = 0; bit < 8; bit++) found = (found >>> 1) ^ (found & 1 ? 0xa001 : 0);
  }
  return found;
}
function adler32(data: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (const byte of data) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  return high * 0x10000 + low;
}
function internetChecksum(data: Uint8Array): number {
  let found = Number(sumOf(undefined, data, 2n, false));
  while (found > 0xffff) found = (found % 0x10000) + Math.floor(found / 0x10000);
  return found ^ 0xffff;
}

const CHECKSUMS: Readonly<Record<string, (data: Uint8Array) => number>> = {
  crc32: (data) => crc32(data, 0, data.length),
  crc32c: (data) => crc32c(data, 0, data.length),
  crc32_mpeg2: (data) => upwards(data, 32, 0x04c11db7, -1),
  crc32_bzip2: (data) => ~upwards(data, 32, 0x04c11db7, -1) >>> 0,
  crc32_ogg: (data) => upwards(data, 32, 0x04c11db7, 0),
  crc16_arc: crc16,
  crc16_ccitt: (data) => upwards(data, 16, 0x1021, 0xffff),
  crc16_xmodem: (data) => upwards(data, 16, 0x1021, 0),
  internet_checksum: internetChecksum,
  adler32,
  xor: (data) => data.reduce((found, byte) => found ^ byte, 0),
};

export function checksum(_x: StreamedObject, name: string, data: Uint8Array): bigint {
  return BigInt(CHECKSUMS[name]?.(data) ?? 0);
}
/** The sum of numbers of a size; a partial one at the end is filled with zeros. */
export function sumOf(
  _x: StreamedObject | undefined,
  data: Uint8Array,
  size: bigint,
  little: boolean,
): bigint {
  const width = Number(size);
  let found = 0n;
  for (let at = 0; at < data.length; at += width) {
    let number = 0;
    for (let place = 0; place < width; place++) {
      const byte = data[at + (little ? width - 1 - place : place)] ?? 0;
      number = number * 256 + byte;
    }
    found += BigInt(number);
  }
  return found;
}
export function digest(_x: StreamedObject, name: string, data: Uint8Array): Uint8Array {
  return new Uint8Array(createHash(name).update(data).digest());
}

/** Refuses a field that is not what it is derived from. */
export function differs(
  x: StreamedObject,
  name: string,
  isChecksum: boolean,
  need: unknown,
  have: unknown,
): never {
  x._differs(name, isChecksum, need, have);
}
