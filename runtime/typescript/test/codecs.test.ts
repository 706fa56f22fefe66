import assert from "node:assert/strict";
import { test } from "node:test";

import { codecs } from "../src/codecs.js";
import { type Codec, FormatError } from "../src/runtime.js";

const text = new TextEncoder().encode("a line of a log\n".repeat(20_000));
const noise = Uint8Array.from({ length: 100_000 }, (_, at) => (at * 2654435761) >>> 13);
const LIMIT = 1 << 20;
const isLimit = (error: unknown): boolean => error instanceof FormatError && error.code === "limit_exceeded";

for (const [name, codec] of Object.entries<Codec>(codecs)) {
  test(name, () => {
    for (const data of [new Uint8Array(), text, noise]) {
      const packed = codec.compress(data);
      assert.deepEqual(Uint8Array.from(codec.decompress(packed, LIMIT)), data);
      if (data.length > 0) assert.throws(() => codec.decompress(packed, data.length - 1), isLimit);
      for (const size of [0, 1, 7, packed.length >> 1]) {
        if (size < packed.length - 4 && data.length > 0) {
          assert.throws(() => codec.decompress(packed.subarray(0, size), LIMIT));
        }
      }
    }
  });
}

test("zstd that others wrote", () => {
  const frame = Buffer.from("28b52ffd0058c9000078790a000100", "hex");
  assert.throws(() => codecs.zstd.decompress(frame.subarray(0, 8), LIMIT));
  const raw = Buffer.from("28b52ffd2003190000616263", "hex");
  assert.equal(Buffer.from(codecs.zstd.decompress(raw, LIMIT)).toString(), "abc");
  assert.throws(() => codecs.zstd.decompress(raw, 2), isLimit);
  // a window of 2 GiB, which is not allocated
  const wide = Buffer.from("28b52ffd00a8190000616263", "hex");
  assert.throws(() => codecs.zstd.decompress(wide, LIMIT));
});
