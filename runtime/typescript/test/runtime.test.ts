import assert from "node:assert/strict";
import { test } from "node:test";

import { crc32, crc32c, FormatError, NO_UUID, Reader, sizeOfText, Writer } from "../src/runtime.js";

const bytes = (...list: number[]): Uint8Array => Uint8Array.from(list);
const error = (code: string, at?: number) => (thrown: unknown) =>
  thrown instanceof FormatError && thrown.code === code && thrown.at === at;

/** Write, compare, and read back. */
function both<T>(write: (w: Writer) => void, read: (r: Reader) => T, value: T, ...wanted: number[]): void {
  const w = new Writer();
  write(w);
  const data = w.finish();
  if (wanted.length > 0) assert.deepEqual(data, bytes(...wanted));
  const r = new Reader(data);
  assert.deepEqual(read(r), value);
  r.requireEnd("");
}

test("varints", () => {
  for (const value of [0, 1, -1, 63, -64, 64, 300, 0x7fffffff, -0x80000000]) {
    both(
      (w) => {
        w.zigzag32("", value);
      },
      (r) => r.zigzag32(""),
      value,
    );
  }
  for (let bit = 0n; bit < 64n; bit++) {
    for (const value of [(1n << bit) - 1n, -(1n << bit)].map((each) => BigInt.asIntN(64, each))) {
      both(
        (w) => {
          w.zigzag64("", value);
        },
        (r) => r.zigzag64(""),
        value,
      );
    }
  }
  both(
    (w) => {
      w.uvarint32("", 300);
    },
    (r) => r.uvarint32(""),
    300,
    0xac,
    0x02,
  );
  both(
    (w) => {
      w.zigzag64("", -1n);
    },
    (r) => r.zigzag64(""),
    -1n,
    0x01,
  );
  assert.throws(() => new Reader(bytes(0x80)).uvarint32("x"), error("truncated", 0));
  assert.throws(
    () => new Reader(bytes(0x80, 0x80, 0x80, 0x80, 0x80, 1)).uvarint32("x"),
    error("malformed", 0),
  );
});

test("numbers out of range, and those that are cut off", () => {
  const w = new Writer();
  assert.throws(() => {
    w.s1("x", 128);
  }, error("not_encodable"));
  assert.throws(() => {
    w.u4("x", -1);
  }, error("not_encodable"));
  assert.throws(() => {
    w.s2("x", 0.5);
  }, error("not_encodable"));
  assert.throws(() => {
    w.s8("x", 1n << 63n);
  }, error("not_encodable"));
  assert.throws(() => {
    w.zigzag64("x", 1n << 63n);
  }, error("not_encodable"));
  assert.throws(() => new Reader(bytes(1, 2, 3)).s4("x"), error("truncated", 0));
  both(
    (to) => {
      to.u4le("", 0x01020304);
    },
    (r) => r.u4le(""),
    0x01020304,
    4,
    3,
    2,
    1,
  );
});

test("text, and bytes that are none", () => {
  for (const text of [
    "",
    "plain",
    "\u00fcn\u00efc\u00f6d\u00e9",
    "\u{1f600}",
    "\udc80\udcff",
    "a\udced\udca0\udc80b",
    "x".repeat(100),
  ]) {
    const w = new Writer();
    w.chars("", text);
    assert.equal(w.pos, sizeOfText(text));
    const data = w.finish();
    assert.equal(new Reader(data).chars("", data.length), text);
  }
  assert.throws(() => {
    new Writer().chars("x", "\ud800");
  }, error("not_encodable"));
  assert.throws(() => {
    new Writer().chars("x", "\u00fc", true);
  }, error("not_encodable"));
});

test("UUIDs", () => {
  const text = "01234567-89ab-cdef-0123-456789abcdef";
  both(
    (w) => {
      w.uuid("", text);
    },
    (r) => r.uuid(""),
    text,
  );
  both(
    (w) => {
      w.uuid("", NO_UUID);
    },
    (r) => r.uuid(""),
    NO_UUID,
  );
  assert.throws(() => {
    new Writer().uuid("x", "no");
  }, error("not_encodable"));
});

test("a writer that grows keeps what it has", () => {
  const w = new Writer({}, 1);
  for (let i = 0; i < 5000; i++) w.s4("", i);
  const r = new Reader(w.finish());
  for (let i = 0; i < 5000; i++) assert.equal(r.s4(""), i);
  assert.equal(w.pos, 0);
});

test("tagged sections", () => {
  const w = new Writer();
  w.tags("t", [{ number: 3, data: bytes(1) }], [{ number: 1, data: bytes(2, 3) }]);
  assert.deepEqual(w.finish(), bytes(2, 1, 2, 2, 3, 3, 1, 1));
  assert.throws(() => {
    w.tags("t", [{ number: 1, data: bytes() }], [{ number: 1, data: bytes() }]);
  }, error("not_encodable"));
  assert.throws(() => new Reader(bytes(0xff, 0xff, 0x7f)).tags("t"), error("truncated", 3));
});

test("limits", () => {
  const r = new Reader(new Uint8Array(100), { maxElements: 10 });
  assert.throws(() => r.count("x", 11, 1), error("limit_exceeded", 0));
  assert.throws(() => r.count("x", 101, 1), error("truncated", 0));
  assert.throws(() => r.count("x", -1, 1), error("malformed", 0));
  assert.throws(() => r.octets("x", -1), error("malformed", 0));
  assert.throws(() => r.octets("x", 101), error("truncated", 0));
});

test("checksums", () => {
  const check = new TextEncoder().encode("123456789");
  assert.equal(crc32(check, 0, 9), 0xcbf43926);
  assert.equal(crc32c(check, 0, 9), 0xe3069283);
});

test("the path of an error", () => {
  const found = new FormatError("truncated", { path: "value", at: 17, need: 4, have: 1 }).within(
    "records",
    3,
  );
  assert.equal(found.message, "records[3].value: truncated: need 4, have 1, at byte 17");
});
