/** What generated readers and writers share: bytes with a position, errors, options, checksums. */

/** Kinds of errors of bytes, or of values to write, with the same names in every language. */
export type ErrorCode =
  "truncated" | "malformed" | "bad_checksum" | "unsupported" | "limit_exceeded" | "not_encodable";

/** The facts of an error besides its code. */
export interface ErrorFacts {
  /** The field, from the outermost type inwards: `records[3].value`. */
  path?: string;
  reason?: string;
  /** Bytes from the start of the input; with `inside`, the start of the compressed bytes. */
  at?: number;
  need?: unknown;
  have?: unknown;
}

/** Bytes that do not match their format, or a value that cannot be encoded. */
export class FormatError extends Error {
  override readonly name = "FormatError";
  readonly code: ErrorCode;
  path: string;
  reason: string;
  at: number | undefined;
  readonly need: unknown;
  readonly have: unknown;
  /** The codec in whose decompressed bytes the field is. */
  inside: string | undefined;

  constructor(code: ErrorCode, facts: ErrorFacts = {}) {
    super();
    this.code = code;
    this.path = facts.path ?? "";
    this.reason = facts.reason ?? "";
    this.at = facts.at;
    this.need = facts.need;
    this.have = facts.have;
    this.describe();
  }

  /** Put the name of a field, and the place in its list, in front of the path. */
  within(name: string, index?: number): this {
    const outer = index === undefined ? name : `${name}[${String(index)}]`;
    if (outer !== "") {
      this.path = this.path === "" || this.path.startsWith("[") ? outer + this.path : `${outer}.${this.path}`;
      this.describe();
    }
    return this;
  }

  /** Set the start of the compressed bytes that contain the error. */
  outside(codec: string, at: number): this {
    if (codec === "none") {
      this.at = (this.at ?? 0) + at;
    } else {
      this.at = at;
      this.inside = codec;
    }
    this.describe();
    return this;
  }

  private describe(): void {
    const parts = [this.code.replaceAll("_", " ")];
    if (this.path !== "") parts.unshift(this.path);
    if (this.reason !== "") parts.push(this.reason);
    const facts: string[] = [];
    if (this.need !== undefined) facts.push(`need ${shown(this.need)}`);
    if (this.have !== undefined) facts.push(`have ${shown(this.have)}`);
    if (this.at !== undefined) facts.push(`at byte ${String(this.at)}`);
    this.message = [...parts, ...(facts.length > 0 ? [facts.join(", ")] : [])].join(": ");
  }
}

function shown(value: unknown): string {
  if (value instanceof Uint8Array) return `${String(value.length)} bytes`;
  return typeof value === "string" ? value : JSON.stringify(value, bigintText);
}

function bigintText(_key: string, value: unknown): unknown {
  // objects of streams know what holds them
  if (typeof value === "object" && value !== null && "_parent" in value && "$type" in value)
    return value.$type;
  return typeof value === "bigint" ? String(value) : value;
}

/** An error within the field `name`; errors of other classes are returned unchanged. */
export function within(error: unknown, name: string, index?: number): Error {
  if (error instanceof FormatError) return error.within(name, index);
  return error instanceof Error ? error : new Error(String(error));
}

/** The error for a value that its schema does not allow. */
export function refused(name: string, at: number, need: string, have: unknown): FormatError {
  return new FormatError("malformed", { path: name, reason: "value not allowed", at, need, have });
}

/** The error for a value that cannot be written. */
export function notEncodable(name: string, reason: string, have?: unknown): FormatError {
  return new FormatError("not_encodable", { path: name, reason, have });
}

/** The error for a version that the schema does not have; without `at` it was to be written. */
export function unknownVersion(name: string, need: string, have: unknown, at?: number): FormatError {
  if (at === undefined) return notEncodable(name, "unknown version", have);
  return new FormatError("unsupported", { path: name, reason: "unknown version", at, need, have });
}

/** The error for a switch that has no case for a value. */
export function noCase(name: string, at: number, have: unknown): FormatError {
  return new FormatError("unsupported", { path: name, reason: "no case for this value", at, have });
}

/** The error for wrong fixed bytes. */
export function wrongBytes(name: string, at: number, have: Uint8Array): FormatError {
  return new FormatError("malformed", { path: name, reason: "wrong fixed bytes", at, have });
}

/** The error for the number of a codec that the schema does not have. */
export function unknownCodec(name: string, at: number, have: unknown): FormatError {
  return new FormatError("unsupported", { path: name, reason: "unknown codec", at, have });
}

/** A value that is not null. Throws `not_encodable` for null. */
export function given<T>(name: string, value: T | null): T {
  if (value === null) throw notEncodable(name, "not given");
  return value;
}

/** One compression: whole blocks of bytes, in memory. */
export interface Codec {
  /** The content, of at most `limit` bytes. Throws `FormatError`, or any other error for invalid bytes. */
  decompress(data: Uint8Array, limit: number): Uint8Array;
  compress(data: Uint8Array): Uint8Array;
}

/** Codecs by the names that schemas have for them, such as `gzip`. */
export type Codecs = Readonly<Partial<Record<string, Codec>>>;

/** How strict a reader is, and how much it may allocate. */
export interface ReadOptions {
  readonly ignoreChecksums?: boolean;
  /** Fields derived from the largest or last element of a list are not verified. */
  readonly ignoreDerived?: boolean;
  /** Of one list; 4,000,000 by default. */
  readonly maxElements?: number;
  /** Bytes of all compressed fields of an input together; 256 MiB by default. */
  readonly maxDecompressed?: number;
  /** The most levels that objects of streamed schemas may nest; 100 by default. */
  readonly maxDepth?: number;
  /** Decompressors by codec; none by default. */
  readonly codecs?: Codecs;
}

/** A field of a tagged section that the schema does not know. */
export interface RawTag {
  readonly number: number;
  readonly data: Uint8Array;
}

/** Where the bytes of a tagged field are. */
export interface TagPlace {
  readonly number: number;
  readonly start: number;
  readonly stop: number;
}

/** The state of a reader within a tagged section, and of the bytes around it. */
export interface Section {
  readonly tags: readonly TagPlace[];
  readonly after: number;
  readonly end: number;
}

export const NO_UUID = "00000000-0000-0000-0000-000000000000";
const NO_TAGS: readonly TagPlace[] = [];
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const UUID = /^[\da-f]{8}-?[\da-f]{4}-?[\da-f]{4}-?[\da-f]{4}-?[\da-f]{12}$/i;
const SHORT_TEXT = 24;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ENCODER = new TextEncoder();

/** Bytes up to `end`; `pos` is the next one. Results share memory with them. */
export class Reader {
  pos = 0;
  end: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly options: ReadOptions;
  private readonly compressed: boolean;
  /** How many bytes may be decompressed, in all of the input. */
  private readonly left: { bytes: number };

  constructor(
    bytes: Uint8Array,
    options: ReadOptions = {},
    compressed = false,
    left = { bytes: options.maxDecompressed ?? 0x10000000 },
  ) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
    this.options = options;
    this.compressed = compressed;
    this.left = left;
  }

  /** Skips the next `size` bytes, and returns their start. */
  private advance(name: string, size: number): number {
    const at = this.pos;
    if (this.end - at < size) throw this.truncated(name, size);
    this.pos = at + size;
    return at;
  }

  private truncated(name: string, need: number): FormatError {
    return new FormatError("truncated", { path: name, at: this.pos, need, have: this.end - this.pos });
  }

  /** Skips the next bytes, unless some are missing. */
  skip(size: number): boolean {
    if (this.end - this.pos < size) return false;
    this.pos += size;
    return true;
  }

  /** The error for the first of several fields that is cut off. */
  short(...fields: readonly (readonly [name: string, size: number])[]): FormatError {
    let at = this.pos;
    for (const [path, size] of fields) {
      const have = Math.max(0, this.end - at);
      if (have < size) return new FormatError("truncated", { path, at, need: size, have });
      at += size;
    }
    return new FormatError("truncated", { at });
  }

  /** Skips the next `size` bytes, and returns their start. */
  take(name: string, size: number): number {
    return this.advance(name, size);
  }

  /** The start of the next `size` bytes, which must be there. */
  peek(names: string, size: number): number {
    if (this.end - this.pos < size) throw this.truncated(names, size);
    return this.pos;
  }

  /** Bytes from a place; they are a part of the input, not a copy. */
  slice(at: number, size: number): Uint8Array {
    return this.view8(at, at + size);
  }

  /** Require fixed bytes. */
  contents(name: string, at: number, need: Uint8Array, have: Uint8Array): void {
    if (!sameBytes(need, have)) throw wrongBytes(name, at, have);
  }

  u1(name: string): number {
    return this.view.getUint8(this.advance(name, 1));
  }
  s1(name: string): number {
    return this.view.getInt8(this.advance(name, 1));
  }
  u2(name: string): number {
    return this.view.getUint16(this.advance(name, 2));
  }
  u2le(name: string): number {
    return this.view.getUint16(this.advance(name, 2), true);
  }
  s2(name: string): number {
    return this.view.getInt16(this.advance(name, 2));
  }
  s2le(name: string): number {
    return this.view.getInt16(this.advance(name, 2), true);
  }
  u4(name: string): number {
    return this.view.getUint32(this.advance(name, 4));
  }
  u4le(name: string): number {
    return this.view.getUint32(this.advance(name, 4), true);
  }
  s4(name: string): number {
    return this.view.getInt32(this.advance(name, 4));
  }
  s4le(name: string): number {
    return this.view.getInt32(this.advance(name, 4), true);
  }
  u8(name: string): bigint {
    return this.view.getBigUint64(this.advance(name, 8));
  }
  u8le(name: string): bigint {
    return this.view.getBigUint64(this.advance(name, 8), true);
  }
  s8(name: string): bigint {
    return this.view.getBigInt64(this.advance(name, 8));
  }
  s8le(name: string): bigint {
    return this.view.getBigInt64(this.advance(name, 8), true);
  }
  f4(name: string, little = false): number {
    return this.f4At(this.advance(name, 4), little);
  }

  f4At(at: number, little = false): number {
    const value = this.view.getFloat32(at, little);
    return Number.isNaN(value) ? wideNan(this.view.getUint32(at, little)) : value;
  }
  f4le(name: string): number {
    return this.f4(name, true);
  }
  f8(name: string): number {
    return this.view.getFloat64(this.advance(name, 8));
  }
  f8le(name: string): number {
    return this.view.getFloat64(this.advance(name, 8), true);
  }
  bool8(name: string): boolean {
    return this.view.getUint8(this.advance(name, 1)) !== 0;
  }

  uuid(name: string): string {
    return this.uuidAt(this.advance(name, 16));
  }

  uuidAt(at: number): string {
    let text = "";
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
      text += HEX[this.view.getUint8(at + i)] ?? "";
    }
    return text;
  }

  /** A number of `size` bytes, for bit fields. */
  whole(name: string, size: number, little = false): bigint {
    return this.wholeAt(this.advance(name, size), size, little);
  }

  /** The same from a place. */
  wholeAt(at: number, size: number, little = false): bigint {
    let value = 0n;
    for (let i = 0; i < size; i++) {
      value = (value << 8n) | BigInt(this.view.getUint8(at + (little ? size - 1 - i : i)));
    }
    return value;
  }

  /** An unsigned LEB128 number of at most 5 bytes; of a fifth one 4 bits count. */
  uvarint32(name: string): number {
    const start = this.pos;
    let value = 0;
    for (let n = 0; n < 5; n++) {
      if (start + n >= this.end) throw this.cut(name, n);
      const byte = this.view.getUint8(start + n);
      value |= (byte & 0x7f) << (7 * n);
      if (byte < 0x80) {
        this.pos = start + n + 1;
        return value >>> 0;
      }
    }
    throw this.unending(name, 5);
  }

  zigzag32(name: string): number {
    const value = this.uvarint32(name);
    return (value >>> 1) ^ -(value & 1);
  }

  zigzag64(name: string): bigint {
    const start = this.pos;
    // 28 bits, 28 bits and 14 bits, of which the last 6 do not count
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let n = 0; n < 10; n++) {
      if (start + n >= this.end) throw this.cut(name, n);
      const byte = this.view.getUint8(start + n);
      const bits = byte & 0x7f;
      if (n < 4) low |= bits << (7 * n);
      else if (n < 8) middle |= bits << (7 * n - 28);
      else high |= bits << (7 * n - 56);
      if (byte < 0x80) {
        this.pos = start + n + 1;
        if (n < 4) return BigInt((low >>> 1) ^ -(low & 1));
        if (n < 7) {
          const half = middle * 0x8000000 + (low >>> 1);
          return BigInt((low & 1) === 0 ? half : -half - 1);
        }
        const raw = BigInt.asUintN(64, (BigInt(high) << 56n) | (BigInt(middle) << 28n) | BigInt(low));
        return (raw >> 1n) ^ -(raw & 1n);
      }
    }
    throw this.unending(name, 10);
  }

  private cut(name: string, have: number): FormatError {
    return new FormatError("truncated", { path: name, at: this.pos, need: have + 1, have });
  }

  private unending(name: string, most: number): FormatError {
    const reason = `varint does not end within ${String(most)} bytes`;
    return new FormatError("malformed", { path: name, reason, at: this.pos });
  }

  /** The end of the next `size` bytes. */
  private span(name: string, size: number): number {
    if (size < 0) {
      const facts = { path: name, reason: "negative size", at: this.pos, need: "at least 0", have: size };
      throw new FormatError("malformed", facts);
    }
    if (size > this.end - this.pos) throw this.truncated(name, size);
    return this.pos + size;
  }

  private view8(start: number, stop: number): Uint8Array {
    return new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + start, stop - start);
  }

  /** The next bytes; they are a part of the input, not a copy. */
  octets(name: string, size: number): Uint8Array {
    const stop = this.span(name, size);
    const start = this.pos;
    this.pos = stop;
    return this.view8(start, stop);
  }

  /** All bytes that are left. */
  rest(): Uint8Array {
    const start = this.pos;
    this.pos = this.end;
    return this.view8(start, this.end);
  }

  /** Text in UTF-8 or ASCII; an invalid byte becomes a surrogate U+DC80 to U+DCFF, as in Python. */
  chars(name: string, size: number, ascii = false): string {
    const stop = this.span(name, size);
    const start = this.pos;
    this.pos = stop;
    if (size <= SHORT_TEXT) {
      let text = "";
      let at = start;
      for (; at < stop; at++) {
        const byte = this.view.getUint8(at);
        if (byte >= 0x80) break;
        text += String.fromCharCode(byte);
      }
      if (at === stop) return text;
    }
    const bytes = this.view8(start, stop);
    if (ascii)
      return Array.from(bytes, (byte) => String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte)).join("");
    try {
      return DECODER.decode(bytes);
    } catch {
      return escaped(bytes);
    }
  }

  /** Limit the reader to the next `size` bytes; `leave` restores the end that this returns. */
  enter(name: string, size: number): number {
    const end = this.end;
    this.end = this.span(name, size);
    return end;
  }

  leave(name: string, end: number): void {
    this.requireEnd(name);
    this.end = end;
  }

  /** Require that a value has used all of its bytes. */
  requireEnd(name: string): void {
    if (this.pos === this.end) return;
    const reason = "bytes are left over after the field's content";
    throw new FormatError("malformed", {
      path: name,
      reason,
      at: this.pos,
      need: 0,
      have: this.end - this.pos,
    });
  }

  /** A number of elements of at least `least` bytes that can be there. */
  count(name: string, count: number, least: number): number {
    const left = this.end - this.pos;
    const at = this.pos;
    if (count < 0) {
      const facts = { path: name, reason: "negative count", at, need: "at least 0", have: count };
      throw new FormatError("malformed", facts);
    }
    if (count * Math.max(least, 1) > left) {
      if (least > 0) throw this.truncated(name, count * least);
      const facts = { path: name, reason: "more elements than bytes", at, need: count, have: left };
      throw new FormatError("limit_exceeded", facts);
    }
    if (count > this.maxElements) throw this.tooMany(name);
    return count;
  }

  private get maxElements(): number {
    return this.options.maxElements ?? 4_000_000;
  }

  private tooMany(name: string): FormatError {
    const most = this.maxElements;
    const facts = { path: name, reason: "too many elements", at: this.pos, need: most + 1, have: most };
    return new FormatError("limit_exceeded", facts);
  }

  /** Require room for an element more in a list that ends with its bytes. */
  requireRoom(name: string, length: number): void {
    if (length >= this.maxElements) throw this.tooMany(name);
  }

  /** Require that an element of such a list, which began at `at`, had bytes. */
  requireProgress(name: string, at: number): void {
    if (this.pos !== at) return;
    const reason = "an element without bytes would repeat forever";
    throw new FormatError("malformed", { path: name, reason, at });
  }

  /** The frame of a tagged section (KIP-482). */
  tags(name: string): Section {
    const end = this.end;
    const many = this.uvarint32(name);
    if (many === 0) return { tags: NO_TAGS, after: this.pos, end };
    this.count(name, many, 2);
    const tags: TagPlace[] = [];
    while (tags.length < many) {
      const number = this.uvarint32(name);
      const stop = this.span(name, this.uvarint32(name));
      tags.push({ number, start: this.pos, stop });
      this.pos = stop;
    }
    return { tags, after: this.pos, end };
  }

  /** Go to the bytes of a tagged field. */
  enterTag(tag: TagPlace): void {
    this.pos = tag.start;
    this.end = tag.stop;
  }

  leaveTags(section: Section): void {
    this.pos = section.after;
    this.end = section.end;
  }

  /** Require that a field at `at` has the length of the fields it covers. */
  requireLength(name: string, at: number, have: number | bigint, need: number | bigint): void {
    if (BigInt(have) === BigInt(need)) return;
    throw new FormatError("malformed", {
      path: name,
      reason: "not the length of the fields it covers",
      at,
      need,
      have,
    });
  }

  /** Require that a field at `at` is the checksum of the bytes from `start` to `stop`. */
  requireChecksum(name: string, sum: Checksum, start: number, stop: number, at: number, need: number): void {
    if (this.options.ignoreChecksums === true) return;
    const have = sum(this.bytes, start, stop);
    if (have !== need) throw new FormatError("bad_checksum", { path: name, at, need, have });
  }

  /** Require that a field equals, or is at least, a value derived from a list, unless this is undefined. */
  requireDerived(
    name: string,
    at: number,
    have: number | bigint | null,
    need: number | bigint,
    atLeast = false,
  ): void {
    if (have === null) return;
    if (atLeast ? have < need : BigInt(have) !== BigInt(need)) throw refused(name, at, String(need), have);
  }

  /** A reader of what `stored` bytes, which start at `at`, decompress to. */
  unpacked(name: string, codec: string, stored: Uint8Array, at: number): Reader {
    if (codec === "none") return new Reader(stored, this.options, this.compressed, this.left);
    if (this.compressed) {
      throw new FormatError("malformed", { path: name, reason: `${codec} data inside compressed data`, at });
    }
    if (stored.length === 0) {
      const reason = `${codec}: the payload is empty`;
      throw new FormatError("truncated", { path: name, reason, at, need: 1, have: 0 });
    }
    const how = this.options.codecs?.[codec];
    if (how === undefined) {
      throw new FormatError("unsupported", { path: name, reason: `no codec ${codec} was given`, at });
    }
    const limit = this.left.bytes;
    let data: Uint8Array;
    try {
      data = how.decompress(stored, limit);
    } catch (error) {
      if (error instanceof FormatError) {
        error.at = at;
        throw error.within(name);
      }
      const reason = `${codec}: ${error instanceof Error ? error.message : String(error)}`;
      throw new FormatError("malformed", { path: name, reason, at });
    }
    if (data.length > limit) throw tooLarge(codec, limit).within(name).outside("none", at);
    this.left.bytes -= data.length;
    return new Reader(data, this.options, true, this.left);
  }
}

/** The error for content that is larger than its limit, in bytes. */
export function tooLarge(codec: string, limit: number): FormatError {
  const reason = `${codec}: decompresses to more than allowed`;
  return new FormatError("limit_exceeded", { reason, need: limit + 1, have: limit });
}

/** An error in decompressed content, as one of the field that contains it. */
export function outside(error: unknown, name: string, codec: string, at: number): Error {
  const found = within(error, name);
  return found instanceof FormatError ? found.outside(codec, at) : found;
}

const NAN = new DataView(new ArrayBuffer(8));

/** A 32-bit NaN as a 64-bit NaN: a conversion would make a signalling NaN quiet. */
function wideNan(bits: number): number {
  NAN.setInt32(0, (bits & 0x80000000) | 0x7ff00000 | ((bits >>> 3) & 0xfffff));
  NAN.setInt32(4, bits << 29);
  return NAN.getFloat64(0);
}

/** The 32 bits of a NaN; one whose payload does not fit is quiet. */
function narrowNan(value: number): number {
  NAN.setFloat64(0, value);
  const high = NAN.getInt32(0);
  const payload = ((high & 0xfffff) << 3) | (NAN.getInt32(4) >>> 29);
  return ((high & 0x80000000) | 0x7f800000 | (payload === 0 ? 0x400000 : payload)) >>> 0;
}

/** UTF-8 with bytes that are no text. */
function escaped(bytes: Uint8Array): string {
  let text = "";
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at] ?? 0;
    const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    try {
      text += DECODER.decode(bytes.subarray(at, at + size));
      at += size;
    } catch {
      text += String.fromCharCode(0xdc00 + first);
      at += 1;
    }
  }
  return text;
}

/** The bytes of a text in UTF-8, where U+DC80 to U+DCFF alone are bytes that are no text. */
export function sizeOfText(text: string): number {
  let size = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) size += 1;
    else if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(i + 1))) {
      size += 2;
      i += 1;
    } else if (!isEscape(unit)) size += 2;
  }
  return size;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

function isEscape(unit: number): boolean {
  return unit >= 0xdc80 && unit < 0xdd00;
}

/** Bytes that grow as values are appended. */
export class Writer {
  pos = 0;
  private buffer: Uint8Array;
  private view: DataView;
  readonly codecs: Codecs;

  constructor(codecs: Codecs = {}, size = 1024) {
    this.buffer = new Uint8Array(size);
    this.view = new DataView(this.buffer.buffer);
    this.codecs = codecs;
  }

  /** A copy of the written bytes. The writer is then empty, and reuses its memory. */
  finish(): Uint8Array {
    const found = this.buffer.slice(0, this.pos);
    this.pos = 0;
    return found;
  }

  /** The checksum of the written bytes. */
  checksum(sum: Checksum, start: number, stop = this.pos): number {
    return sum(this.buffer, start, stop);
  }

  /** Skips the next `size` bytes, and returns their start. */
  private advance(size: number): number {
    const at = this.pos;
    const stop = at + size;
    if (stop > this.buffer.length) this.grow(stop);
    this.pos = stop;
    return at;
  }

  private grow(size: number): void {
    const larger = new Uint8Array(Math.max(size, 2 * this.buffer.length));
    larger.set(this.buffer);
    this.buffer = larger;
    this.view = new DataView(larger.buffer);
  }

  u1(name: string, value: number): void {
    if (value !== (value & 0xff)) throw outOfRange(name, value);
    const at = this.advance(1);
    this.view.setUint8(at, value);
  }
  s1(name: string, value: number): void {
    if (value !== (value << 24) >> 24) throw outOfRange(name, value);
    const at = this.advance(1);
    this.view.setInt8(at, value);
  }
  u2(name: string, value: number, little = false): void {
    if (value !== (value & 0xffff)) throw outOfRange(name, value);
    const at = this.advance(2);
    this.view.setUint16(at, value, little);
  }
  u2le(name: string, value: number): void {
    this.u2(name, value, true);
  }
  s2(name: string, value: number, little = false): void {
    if (value !== (value << 16) >> 16) throw outOfRange(name, value);
    const at = this.advance(2);
    this.view.setInt16(at, value, little);
  }
  s2le(name: string, value: number): void {
    this.s2(name, value, true);
  }
  u4(name: string, value: number, little = false): void {
    if (value !== value >>> 0) throw outOfRange(name, value);
    const at = this.advance(4);
    this.view.setUint32(at, value, little);
  }
  u4le(name: string, value: number): void {
    this.u4(name, value, true);
  }
  s4(name: string, value: number, little = false): void {
    if (value !== (value | 0)) throw outOfRange(name, value);
    const at = this.advance(4);
    this.view.setInt32(at, value, little);
  }
  s4le(name: string, value: number): void {
    this.s4(name, value, true);
  }
  u8(name: string, value: bigint, little = false): void {
    if (value !== BigInt.asUintN(64, value)) throw outOfRange(name, value);
    const at = this.advance(8);
    this.view.setBigUint64(at, value, little);
  }
  u8le(name: string, value: bigint): void {
    this.u8(name, value, true);
  }
  s8(name: string, value: bigint, little = false): void {
    if (value !== BigInt.asIntN(64, value)) throw outOfRange(name, value);
    const at = this.advance(8);
    this.view.setBigInt64(at, value, little);
  }
  s8le(name: string, value: bigint): void {
    this.s8(name, value, true);
  }
  f4(name: string, value: number, little = false): void {
    if (Number.isFinite(value) && !Number.isFinite(Math.fround(value))) throw outOfRange(name, value);
    const at = this.advance(4);
    if (Number.isNaN(value)) this.view.setUint32(at, narrowNan(value), little);
    else this.view.setFloat32(at, value, little);
  }
  f4le(name: string, value: number): void {
    this.f4(name, value, true);
  }
  f8(_name: string, value: number, little = false): void {
    const at = this.advance(8);
    this.view.setFloat64(at, value, little);
  }
  f8le(name: string, value: number): void {
    this.f8(name, value, true);
  }
  bool8(_name: string, value: boolean): void {
    const at = this.advance(1);
    this.view.setUint8(at, value ? 1 : 0);
  }

  uuid(name: string, value: string): void {
    if (!UUID.test(value)) throw notEncodable(name, "not a UUID", value);
    const digits = value.replaceAll("-", "");
    const at = this.advance(16);
    for (let i = 0; i < 16; i++) this.view.setUint8(at + i, parseInt(digits.slice(2 * i, 2 * i + 2), 16));
  }

  /** A number of `size` bytes, for bit fields. */
  whole(value: bigint, size: number, little = false): void {
    const at = this.advance(size);
    let left = value;
    for (let i = 0; i < size; i++) {
      this.view.setUint8(at + (little ? i : size - 1 - i), Number(left & 0xffn));
      left >>= 8n;
    }
  }

  uvarint32(name: string, value: number): void {
    if (value !== value >>> 0) throw outOfRange(name, value);
    let left = value;
    let at = this.advance(5);
    while (left > 0x7f) {
      this.view.setUint8(at++, (left & 0x7f) | 0x80);
      left >>>= 7;
    }
    this.view.setUint8(at++, left);
    this.pos = at;
  }

  zigzag32(name: string, value: number): void {
    if (value !== (value | 0)) throw outOfRange(name, value);
    this.uvarint32(name, ((value << 1) ^ (value >> 31)) >>> 0);
  }

  zigzag64(name: string, value: bigint): void {
    const near = Number(value);
    if (near >= -0x40000000 && near < 0x40000000) {
      this.uvarint32(name, ((near << 1) ^ (near >> 31)) >>> 0);
      return;
    }
    if (value !== BigInt.asIntN(64, value)) throw outOfRange(name, value);
    let left = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
    let at = this.advance(10);
    while (left > 0x7fn) {
      this.view.setUint8(at++, Number(left & 0x7fn) | 0x80);
      left >>= 7n;
    }
    this.view.setUint8(at++, Number(left));
    this.pos = at;
  }

  octets(data: Uint8Array): void {
    const at = this.advance(data.length);
    this.buffer.set(data, at);
  }

  /** A number of bytes, some of which are set later. */
  zeros(size: number): void {
    const at = this.advance(size);
    this.buffer.fill(0, at, at + size);
  }

  /** Text as returned by `Reader.chars`. */
  chars(name: string, text: string, ascii = false): void {
    let at = this.advance(text.length);
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) {
        this.pos = at;
        this.beyondAscii(name, text.slice(i), ascii);
        return;
      }
      this.buffer[at++] = unit;
    }
  }

  private beyondAscii(name: string, text: string, ascii: boolean): void {
    for (const sign of text) {
      const point = sign.codePointAt(0) ?? 0;
      if (isEscape(point)) this.u1(name, point - 0xdc00);
      else if ((ascii && point >= 0x80) || (point >= 0xd800 && point < 0xe000)) {
        throw notEncodable(name, ascii ? "not ascii" : "not utf-8", text);
      } else if (point < 0x80) this.u1(name, point);
      else this.octets(ENCODER.encode(sign));
    }
  }

  /** The bytes that `write` writes; they are not kept here. */
  measured(write: () => void): Uint8Array {
    const start = this.pos;
    write();
    const found = this.buffer.slice(start, this.pos);
    this.pos = start;
    return found;
  }

  /** Overwrite the bytes from `at`. */
  patch(at: number, write: () => void): void {
    const pos = this.pos;
    this.pos = at;
    write();
    this.pos = pos;
  }

  /** A tagged section in ascending order (KIP-482). */
  tags(name: string, known: readonly RawTag[], unknown: readonly RawTag[]): void {
    const tags = unknown.length > 0 ? [...known, ...unknown].sort((a, b) => a.number - b.number) : known;
    this.uvarint32(name, tags.length);
    let last = -1;
    for (const { number, data } of tags) {
      if (number === last) throw notEncodable(name, "the tag occurs twice", number);
      last = number;
      this.uvarint32(name, number);
      this.uvarint32(name, data.length);
      this.octets(data);
    }
  }

  /** The content of a field, compressed. */
  pack(name: string, codec: string, data: Uint8Array): Uint8Array {
    if (codec === "none") return data;
    const how = this.codecs[codec];
    if (how === undefined) throw notEncodable(name, `no codec ${codec} was given`);
    return how.compress(data);
  }
}

function outOfRange(name: string, value: unknown): FormatError {
  return notEncodable(name, "out of range", value);
}

/** A number of at most 32 bits. */
export function fit(name: string, value: number | bigint | boolean, width: number): number {
  return Number(fitBig(name, value, width));
}

/** A number of `width` bits. Throws `not_encodable` if it does not fit. */
export function fitBig(name: string, value: number | bigint | boolean, width: number): bigint {
  const found = BigInt(value);
  if (found >> BigInt(width) !== 0n) throw notEncodable(name, `does not fit ${String(width)} bits`, value);
  return found;
}

/** The largest result of `of` for the items, of which there are some. */
export function most<T, N extends number | bigint>(items: readonly T[], of: (item: T) => N): N {
  let found: N | undefined;
  for (const item of items) {
    const each = of(item);
    if (found === undefined || each > found) found = each;
  }
  return some(found);
}

/** The result of `of` for the last item, which there is. */
export function last<T, N extends number | bigint>(items: readonly T[], of: (item: T) => N): N {
  return of(some(items.at(-1)));
}

function some<T>(value: T | undefined): T {
  if (value === undefined) throw new RangeError("there is no element");
  return value;
}

export function sameBytes(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** Whether two values, of any type that a schema has, are equal. */
export function same(one: unknown, other: unknown): boolean {
  if (one instanceof Uint8Array && other instanceof Uint8Array) return sameBytes(one, other);
  if (one === null || other === null || typeof one !== "object" || typeof other !== "object") {
    return Object.is(one, other) || one === other;
  }
  const mine = Object.entries(one);
  const theirs = new Map(Object.entries(other));
  return mine.length === theirs.size && mine.every(([name, value]) => same(value, theirs.get(name)));
}

/** Whether a value of a switch is an object of this type. */
export function isOf<T extends { readonly $type: string }>(value: unknown, type: T["$type"]): value is T {
  return typeof value === "object" && value !== null && "$type" in value && value.$type === type;
}

/** `/` of schemas, which rounds down. */
export function floorDiv<N extends number | bigint>(a: N, b: N): N;
export function floorDiv(a: number | bigint, b: number | bigint): number | bigint {
  if (typeof a === "bigint" && typeof b === "bigint") {
    const found = a / b;
    return a % b !== 0n && a < 0n !== b < 0n ? found - 1n : found;
  }
  return Math.floor(Number(a) / Number(b));
}

/** `%` of schemas, which has the sign of the right side. */
export function floorMod<N extends number | bigint>(a: N, b: N): N;
export function floorMod(a: number | bigint, b: number | bigint): number | bigint {
  if (typeof a === "bigint" && typeof b === "bigint") return a - b * floorDiv(a, b);
  return Number(a) - Number(b) * Math.floor(Number(a) / Number(b));
}

/** A checksum of the bytes from `start` to `stop`. */
export type Checksum = (bytes: Uint8Array, start: number, stop: number) => number;

/** Eight consecutive tables of a CRC with reflected bits. */
function tablesOf(polynomial: number): Uint32Array {
  const tables = new Uint32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (polynomial & -(value & 1));
    tables[byte] = value;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256] ?? 0;
    tables[at] = (before >>> 8) ^ (tables[before & 0xff] ?? 0);
  }
  return tables;
}

function checksumOf(polynomial: number): Checksum {
  let made: Uint32Array | undefined;
  return (bytes, start, stop) => {
    const t = (made ??= tablesOf(polynomial));
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    let sum = -1;
    let at = start;
    for (; at + 8 <= stop; at += 8) {
      const low = view.getInt32(at, true) ^ sum;
      const high = view.getInt32(at + 4, true);
      sum =
        (t[0x700 | (low & 0xff)] as number) ^
        (t[0x600 | ((low >>> 8) & 0xff)] as number) ^
        (t[0x500 | ((low >>> 16) & 0xff)] as number) ^
        (t[0x400 | (low >>> 24)] as number) ^
        (t[0x300 | (high & 0xff)] as number) ^
        (t[0x200 | ((high >>> 8) & 0xff)] as number) ^
        (t[0x100 | ((high >>> 16) & 0xff)] as number) ^
        (t[high >>> 24] as number);
    }
    for (; at < stop; at++) sum = (t[(sum ^ view.getUint8(at)) & 0xff] as number) ^ (sum >>> 8);
    return ~sum >>> 0;
  };
}

export const crc32 = /* @__PURE__ */ checksumOf(0xedb88320);
/** CRC-32C (Castagnoli). */
export const crc32c = /* @__PURE__ */ checksumOf(0x82f63b78);
