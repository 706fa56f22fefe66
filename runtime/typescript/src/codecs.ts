/** The codecs of Kafka's formats on Node, for `ReadOptions.codecs` and `Writer`: gzip, snappy, lz4, zstd. */

import * as zlib from "node:zlib";

import { Decompress } from "fzstd";
import * as lz4 from "lz4-napi";
import * as snappy from "snappy";

import { type Codec, FormatError, crc32, tooLarge } from "./runtime.js";

/** What Node has of zstd, from 22.15 on. */
interface Zstd {
  readonly zstdDecompressSync?: (data: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
  readonly zstdCompressSync?: (data: Uint8Array) => Uint8Array;
}

const ZSTD = zlib as unknown as Zstd;
/** Older ones have a writer in WebAssembly, which is loaded before anything is written. */
const compressZstd = ZSTD.zstdCompressSync ?? (await loadZstd());
const ZSTD_MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a5;
const MOST_WINDOW = 0x8000000;

/** The result of `decompress`, which stops at the limit itself. */
function bounded(codec: string, limit: number, decompress: (most: number) => Uint8Array): Uint8Array {
  try {
    return decompress(Math.max(limit, 1));
  } catch (error) {
    if (error instanceof RangeError && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE") {
      throw tooLarge(codec, limit);
    }
    throw error;
  }
}

export const gzip: Codec = {
  decompress(data, limit) {
    const parts: Uint8Array[] = [];
    let left = limit;
    // as in Java, what is not the whole header of a member ends the data
    for (let at = contentOfMember(data, 0); at !== undefined;) {
      const { part, size } = inflate(data.subarray(at), left);
      const end = at + size;
      if (data.length - end < 8) throw cut("gzip");
      const view = new DataView(data.buffer, data.byteOffset + end, 8);
      if (view.getUint32(0, true) !== crc32(part, 0, part.length) || view.getUint32(4, true) !== part.length % 2 ** 32) {
        throw new FormatError("malformed", { reason: "gzip: checksum or size of a member" });
      }
      left -= part.length;
      if (left < 0) throw tooLarge("gzip", limit);
      parts.push(part);
      at = contentOfMember(data, end + 8);
    }
    if (parts.length === 0) throw new FormatError("malformed", { reason: "gzip: not a member" });
    return joined(parts);
  },
  compress: (data) => zlib.gzipSync(data),
};

/** What a stream of deflate has, and how many bytes it takes. */
function inflate(data: Uint8Array, limit: number): { part: Uint8Array; size: number } {
  let size = 0;
  const part = bounded("gzip", limit, (maxOutputLength) => {
    // the types of Node do not have the result with `info`
    const made = zlib.inflateRawSync(data, { maxOutputLength, info: true }) as unknown as {
      readonly buffer: Uint8Array;
      readonly engine: { readonly bytesWritten: number };
    };
    size = made.engine.bytesWritten;
    return made.buffer;
  });
  return { part, size };
}

/** Where the compressed bytes of a member start whose header is at `at`, or undefined if there is none. */
function contentOfMember(data: Uint8Array, at: number): number | undefined {
  if (data.length - at < 10 || data[at] !== 0x1f || data[at + 1] !== 0x8b || data[at + 2] !== 8) return;
  const flags = data[at + 3] ?? 0;
  let pos = at + 10;
  if ((flags & 4) !== 0) pos += 2 + (data[pos] ?? 0) + 256 * (data[pos + 1] ?? 0);
  for (const text of [8, 16]) {
    if ((flags & text) === 0) continue;
    pos = data.indexOf(0, pos) + 1;
    if (pos === 0) return;
  }
  if ((flags & 2) !== 0) {
    const sum = crc32(data, at, pos) & 0xffff;
    if (data[pos] !== (sum & 0xff) || data[pos + 1] !== sum >> 8) return;
    pos += 2;
  }
  return pos <= data.length ? pos : undefined;
}

export const zstd: Codec = {
  decompress(data, limit) {
    const native = ZSTD.zstdDecompressSync;
    if (native !== undefined) {
      return bounded("zstd", limit, (maxOutputLength) => native(data, { maxOutputLength }));
    }
    const parts: Uint8Array[] = [];
    let left = limit;
    for (const { start, end, size, checksum } of frames(data, limit)) {
      const before = left;
      const own: Uint8Array[] = [];
      const stream = new Decompress((part) => {
        left -= part.length;
        if (left < 0) throw tooLarge("zstd", limit);
        own.push(part);
      });
      stream.push(data.subarray(start, end), true);
      if (size !== undefined && before - left !== size) {
        throw new FormatError("malformed", { reason: "zstd: size", need: size, have: before - left });
      }
      const content = joined(own);
      if (checksum !== undefined && checksum !== xxhash64(content)) {
        throw new FormatError("malformed", { reason: "zstd: checksum" });
      }
      parts.push(content);
    }
    return joined(parts);
  },
  compress(data) {
    return compressZstd(data);
  },
};

async function loadZstd(): Promise<Codec["compress"]> {
  const { Zstd } = await import("@hpcc-js/wasm-zstd");
  const zstd = await Zstd.load();
  return (data) => zstd.compress(data);
}

interface Frame {
  readonly start: number;
  readonly end: number;
  readonly size: number | undefined;
  /** The lower half of the hash of its content. */
  readonly checksum: number | undefined;
}

/** The frames that are not skippable, to the end of the data. Refuses those whose windows, which would be allocated,
 * are larger than Kafka's reader or the limit allows. */
function frames(data: Uint8Array, limit: number): Frame[] {
  const found: Frame[] = [];
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at < data.length;) {
    if (data.length - at < 4) throw cut("zstd");
    const magic = view.getUint32(at, true);
    if (magic >>> 4 === SKIPPABLE) {
      if (data.length - at < 8) throw cut("zstd");
      at += 8 + view.getUint32(at + 4, true);
      if (at > data.length) throw cut("zstd");
      continue;
    }
    if (magic !== ZSTD_MAGIC) throw new FormatError("malformed", { reason: "zstd: not a frame" });
    if (data.length - at < 6) throw cut("zstd");
    const start = at;
    const flags = view.getUint8(at + 4);
    const single = (flags >> 5) & 1;
    const dictionary = at + 6 - single;
    const content = dictionary + ([0, 1, 2, 4][flags & 3] ?? 0);
    const width = [single, 2, 4, 8][flags >> 6] ?? 0;
    if (data.length < content + width + 3) throw cut("zstd");
    if (data.subarray(dictionary, content).some((byte) => byte !== 0)) {
      throw new FormatError("unsupported", { reason: "zstd: a dictionary" });
    }
    let size = width === 2 ? 256 : 0;
    for (let i = 0; i < width; i++) size += view.getUint8(content + i) * 2 ** (8 * i);
    const code = view.getUint8(at + 5);
    const window = single === 1 ? size : (2 ** (10 + (code >> 3)) / 8) * (8 + (code & 7));
    if (window > MOST_WINDOW) throw new FormatError("unsupported", { reason: "zstd: window", have: window });
    if (width > 0 && size > limit) throw tooLarge("zstd", limit);
    at = content + width;
    for (let isLast = false; !isLast;) {
      if (data.length - at < 3) throw cut("zstd");
      const head = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
      isLast = (head & 1) === 1;
      at += 3 + (((head >> 1) & 3) === 1 ? 1 : head >> 3);
    }
    const summed = (flags & 4) !== 0;
    const end = summed ? at + 4 : at;
    if (end > data.length) throw cut("zstd");
    const checksum = summed ? view.getUint32(at, true) : undefined;
    found.push({ start, end, size: width > 0 ? size : undefined, checksum });
    at = end;
  }
  return found;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  const found = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    found.set(part, at);
    at += part.length;
  }
  return found;
}

const XERIAL = Uint8Array.of(0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1);
const XERIAL_BLOCK = 32 << 10;
const OFFICIAL = Uint8Array.of(0xff, 6, 0, 0, 0x73, 0x4e, 0x61, 0x50, 0x70, 0x59);

/** Blocks of xerial, as Java clients write them, or one raw block. */
export const snappyJava: Codec = {
  decompress(data, limit) {
    if (OFFICIAL.every((byte, at) => byte === data[at])) {
      throw new FormatError("unsupported", { reason: "snappy: the official framing format" });
    }
    if (data.length < 16 || !isXerial(data)) return unsnap(data, limit);
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const parts: Uint8Array[] = [];
    let left = limit;
    // as in Java, 1 to 3 bytes after the last block are ignored, and headers may repeat
    for (let at = 16; data.length - at >= 4;) {
      if (XERIAL.subarray(0, 4).every((byte, i) => byte === data[at + i])) {
        if (data.length - at < 16) throw cut("snappy");
        if (!isXerial(data.subarray(at))) {
          throw new FormatError("malformed", { reason: "snappy: repeated header" });
        }
        if (view.getInt32(at + 8) < 1) {
          throw new FormatError("unsupported", { reason: "snappy: version of a repeated header" });
        }
        at += 16;
        continue;
      }
      const stop = at + 4 + view.getInt32(at);
      if (stop < at + 4) throw new FormatError("malformed", { reason: "snappy: size of a block" });
      if (stop > data.length) throw cut("snappy");
      const part = unsnap(data.subarray(at + 4, stop), left);
      left -= part.length;
      parts.push(part);
      at = stop;
    }
    return joined(parts);
  },
  compress(data) {
    const parts: Uint8Array[] = [XERIAL];
    for (let at = 0; at < data.length; at += XERIAL_BLOCK) {
      const block = snappy.compressSync(Buffer.from(data.subarray(at, at + XERIAL_BLOCK)));
      const size = new Uint8Array(4);
      new DataView(size.buffer).setInt32(0, block.length);
      parts.push(size, block);
    }
    return joined(parts);
  },
};

function isXerial(data: Uint8Array): boolean {
  return XERIAL.subarray(0, 8).every((byte, at) => byte === data[at]);
}

function cut(codec: string): FormatError {
  return new FormatError("truncated", { reason: `${codec}: a block is cut off` });
}

/** One block; its size is in its header, and is checked before anything is allocated. */
function unsnap(block: Uint8Array, limit: number): Uint8Array {
  let size = 0;
  for (let at = 0; ; at++) {
    const byte = block[at];
    if (byte === undefined || at > 4) throw new FormatError("malformed", { reason: "snappy: no size" });
    size += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  if (size > limit) throw tooLarge("snappy", limit);
  // of a byte of a block come at most 64 bytes in 3
  if (size > 22 * block.length) throw new FormatError("malformed", { reason: "snappy: size", have: size });
  const found = snappy.uncompressSync(Buffer.from(block.buffer, block.byteOffset, block.length));
  return typeof found === "string" ? Buffer.from(found) : found;
}

const LZ4_MAGIC = 0x184d2204;
const LZ4_BLOCKS: readonly number[] = [0, 0, 0, 0, 1 << 16, 1 << 18, 1 << 20, 1 << 22];
const STORED = 0x80000000;

/** Frames as Kafka reads and writes them: blocks that do not depend on each other. */
function lz4Frame(legacy: boolean): Codec {
  // version 1, independent blocks of at most 64 KiB; Kafka's first writer took the magic into the checksum
  const head = Uint8Array.of(0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0);
  head[6] = lz4Checksum(head.subarray(legacy ? 0 : 4, 6));
  return {
    decompress: (data, limit) => unframed(data, limit, legacy),
    compress(data) {
      const parts: Uint8Array[] = [head];
      for (let at = 0; at < data.length; at += 1 << 16) {
        const block = data.subarray(at, at + (1 << 16));
        // in front of its block the library puts the size that it had
        const packed = lz4.compressSync(Buffer.from(block)).subarray(4);
        const smaller = packed.length < block.length;
        const size = new Uint8Array(4);
        new DataView(size.buffer).setUint32(0, smaller ? packed.length : block.length + STORED, true);
        parts.push(size, smaller ? packed : block);
      }
      return joined([...parts, new Uint8Array(4)]);
    },
  };
}

function unframed(data: Uint8Array, limit: number, legacy: boolean): Uint8Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.length < 7 || view.getUint32(0, true) !== LZ4_MAGIC) {
    throw new FormatError("malformed", { reason: "lz4: not a frame" });
  }
  const flags = view.getUint8(4);
  const code = view.getUint8(5);
  if (flags >> 6 !== 1 || (flags & 0x20) === 0 || (flags & 0x01) !== 0) {
    throw new FormatError("unsupported", {
      reason: "lz4: frame",
      need: "version 1, independent blocks",
      have: flags,
    });
  }
  const mostOfBlock = LZ4_BLOCKS[code >> 4] ?? 0;
  if ((flags & 0x02) !== 0 || (code & 0x8f) !== 0 || mostOfBlock === 0) {
    throw new FormatError("malformed", { reason: "lz4: reserved bits, or size of blocks" });
  }
  let at = (flags & 0x08) === 0 ? 6 : 14;
  if (data.length <= at) throw cut("lz4");
  // some writers of old messages had the right one
  if (!legacy && lz4Checksum(data.subarray(4, at)) !== view.getUint8(at)) {
    throw new FormatError("malformed", { reason: "lz4: checksum of the frame's header" });
  }
  at += 1;
  const checksum = (flags & 0x10) === 0 ? 0 : 4;
  const parts: Uint8Array[] = [];
  let left = limit;
  for (;;) {
    if (data.length - at < 4) throw cut("lz4");
    const word = view.getUint32(at, true);
    const size = word % STORED;
    at += 4;
    if (size === 0) break;
    if (size > mostOfBlock)
      throw new FormatError("malformed", { reason: "lz4: size of a block", have: size });
    if (data.length - at < size + checksum) throw cut("lz4");
    const block = data.subarray(at, at + size);
    if (checksum > 0 && xxhash32(block) !== view.getUint32(at + size, true)) {
      throw new FormatError("malformed", { reason: "lz4: checksum of a block" });
    }
    const part = word >= STORED ? block : unblocked(block, Math.min(mostOfBlock, 255 * size));
    left -= part.length;
    if (left < 0) throw tooLarge("lz4", limit);
    parts.push(part);
    at += size + checksum;
  }
  if ((flags & 0x04) !== 0 && data.length - at < 4) throw cut("lz4");
  return joined(parts);
}

/** A block of at most `most` bytes, whose size the library wants in front of it. */
function unblocked(block: Uint8Array, most: number): Uint8Array {
  const sized = Buffer.allocUnsafe(4 + block.length);
  sized.writeUInt32LE(most);
  sized.set(block, 4);
  return lz4.uncompressSync(sized);
}

/** The second byte of the hash of an LZ4 frame's descriptor. */
function lz4Checksum(bytes: Uint8Array): number {
  return (xxhash32(bytes) >>> 8) & 0xff;
}

/** With seed 0. */
function xxhash32(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let sum = 0x165667b1;
  let at = 0;
  if (bytes.length >= 16) {
    const lanes = Int32Array.of(0x24234428, 0x85ebca77, 0, 0x61c8864f);
    for (; at + 16 <= bytes.length; at += 16) {
      lanes.forEach((lane, i) => {
        const word = Math.imul(view.getUint32(at + 4 * i, true), 0x85ebca77);
        lanes[i] = Math.imul(turned(lane + word, 13), 0x9e3779b1);
      });
    }
    const turns = [1, 7, 12, 18];
    sum = lanes.reduce((whole, lane, i) => (whole + turned(lane, turns[i] ?? 0)) | 0, 0);
  }
  sum += bytes.length;
  for (; at + 4 <= bytes.length; at += 4) {
    sum = Math.imul(turned(sum + Math.imul(view.getUint32(at, true), 0xc2b2ae3d), 17), 0x27d4eb2f);
  }
  for (; at < bytes.length; at++) {
    sum = Math.imul(turned(sum + Math.imul(view.getUint8(at), 0x165667b1), 11), 0x9e3779b1);
  }
  sum = Math.imul(sum ^ (sum >>> 15), 0x85ebca77);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2ae3d);
  return (sum ^ (sum >>> 16)) >>> 0;
}

/** The lower half of the xxHash64, with seed 0, of a frame of zstd that has one: Kafka's own have none. */
function xxhash64(bytes: Uint8Array): number {
  const [p1, p2, p3, p4, p5]: readonly [bigint, bigint, bigint, bigint, bigint] = [
    0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n, 0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n,
  ];
  const u64 = (value: bigint): bigint => BigInt.asUintN(64, value);
  const turn = (value: bigint, by: bigint): bigint => u64((value << by) | (value >> (64n - by)));
  const round = (sum: bigint, word: bigint): bigint => u64(turn(u64(sum + word * p2), 31n) * p1);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let sum = p5;
  let at = 0;
  if (bytes.length >= 32) {
    let lanes = [u64(p1 + p2), p2, 0n, u64(-p1)];
    for (; at + 32 <= bytes.length; at += 32) {
      const start = at;
      lanes = lanes.map((lane, i) => round(lane, view.getBigUint64(start + 8 * i, true)));
    }
    const turns = [1n, 7n, 12n, 18n];
    sum = lanes.reduce((whole, lane, i) => u64(whole + turn(lane, turns[i] ?? 0n)), 0n);
    for (const lane of lanes) sum = u64((sum ^ round(0n, lane)) * p1 + p4);
  }
  sum = u64(sum + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8) {
    sum = u64(turn(sum ^ round(0n, view.getBigUint64(at, true)), 27n) * p1 + p4);
  }
  if (at + 4 <= bytes.length) {
    sum = u64(turn(sum ^ u64(BigInt(view.getUint32(at, true)) * p1), 23n) * p2 + p3);
    at += 4;
  }
  for (; at < bytes.length; at++) sum = u64(turn(sum ^ u64(BigInt(view.getUint8(at)) * p5), 11n) * p1);
  sum = u64((sum ^ (sum >> 33n)) * p2);
  sum = u64((sum ^ (sum >> 29n)) * p3);
  return Number((sum ^ (sum >> 32n)) & 0xffffffffn);
}

function turned(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

/** All of them, by their names in the schemas of record batches and message sets. */
export const codecs = {
  gzip,
  snappy: snappyJava,
  lz4: lz4Frame(false),
  lz4_legacy: lz4Frame(true),
  zstd,
};
