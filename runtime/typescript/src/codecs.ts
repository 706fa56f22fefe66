/** The codecs of Kafka's formats on Node, for `ReadOptions.codecs` and `Writer`: gzip, snappy, lz4, zstd. */

import * as zlib from "node:zlib";

import { Decompress } from "fzstd";
import * as lz4 from "lz4-napi";
import * as snappy from "snappy";

import { type Codec, FormatError, tooLarge } from "./runtime.js";

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
  decompress: (data, limit) =>
    bounded("gzip", limit, (maxOutputLength) => zlib.gunzipSync(data, { maxOutputLength })),
  compress: (data) => zlib.gzipSync(data),
};

export const zstd: Codec = {
  decompress(data, limit) {
    if (data.length === 0) throw cut("zstd");
    const native = ZSTD.zstdDecompressSync;
    if (native !== undefined) {
      return bounded("zstd", limit, (maxOutputLength) => native(data, { maxOutputLength }));
    }
    requireWindows(data, limit);
    const parts: Uint8Array[] = [];
    let size = 0;
    const stream = new Decompress((part) => {
      size += part.length;
      if (size > limit) throw tooLarge("zstd", limit);
      parts.push(part);
    });
    stream.push(data, true);
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

/** Refuse frames whose windows, which would be allocated, are larger than Kafka's reader or the limit allows. */
function requireWindows(data: Uint8Array, limit: number): void {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at < data.length;) {
    if (data.length - at < 9) throw cut("zstd");
    const magic = view.getUint32(at, true);
    if (magic >>> 4 === SKIPPABLE) {
      at += 8 + view.getUint32(at + 4, true);
      continue;
    }
    const flags = view.getUint8(at + 4);
    const single = (flags >> 5) & 1;
    const content = at + 6 - single + ([0, 1, 2, 4][flags & 3] ?? 0);
    const size = [single, 2, 4, 8][flags >> 6] ?? 0;
    if (magic !== ZSTD_MAGIC || data.length < content + size + 3) throw cut("zstd");
    const code = view.getUint8(at + 5);
    let window = (2 ** (10 + (code >> 3)) / 8) * (8 + (code & 7));
    if (single === 1) {
      window = size === 2 ? 256 : 0;
      for (let i = 0; i < size; i++) window += view.getUint8(content + i) * 2 ** (8 * i);
      if (window > limit) throw tooLarge("zstd", limit);
    }
    if (window > MOST_WINDOW) throw new FormatError("unsupported", { reason: "zstd: window", have: window });
    at = content + size;
    for (let isLast = false; !isLast;) {
      if (data.length - at < 3) throw cut("zstd");
      const head = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
      isLast = (head & 1) === 1;
      at += 3 + (((head >> 1) & 3) === 1 ? 1 : head >> 3);
    }
    at += (flags & 4) === 0 ? 0 : 4;
    if (at > data.length) throw cut("zstd");
  }
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

/** Blocks of xerial, as Java clients write them, or one raw block. */
export const snappyJava: Codec = {
  decompress(data, limit) {
    if (data.length < 16 || !XERIAL.subarray(0, 8).every((byte, at) => byte === data[at])) {
      return unsnap(data, limit);
    }
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const parts: Uint8Array[] = [];
    let left = limit;
    for (let at = 16; at < data.length;) {
      if (data.length - at < 4) throw cut("snappy");
      const stop = at + 4 + view.getInt32(at);
      if (stop < at + 4 || stop > data.length) throw cut("snappy");
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

/** The second byte of the xxHash32 of a few bytes. */
function lz4Checksum(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let sum = 0x165667b1 + bytes.length;
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    sum = Math.imul(turned(sum + Math.imul(view.getUint32(at, true), 0xc2b2ae3d), 17), 0x27d4eb2f);
  }
  for (; at < bytes.length; at++) {
    sum = Math.imul(turned(sum + Math.imul(view.getUint8(at), 0x165667b1), 11), 0x9e3779b1);
  }
  sum = Math.imul(sum ^ (sum >>> 15), 0x85ebca77);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2ae3d);
  return ((sum ^ (sum >>> 16)) >>> 8) & 0xff;
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
