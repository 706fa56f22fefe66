// A testee of ksc's JavaScript readers; the table says what is what.
//
//   node testee.js TABLE FOLDER
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");
const { KaitaiStream } = require("kaitai-struct");

const [, , tableFile, folder] = process.argv;
const table = JSON.parse(fs.readFileSync(tableFile, "utf8"));
const upper = (name) => name.replace(/(^|_)([a-z0-9])/g, (_, __, letter) => letter.toUpperCase());
const lower = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
const classes = new Map();
const names = new Map();

// ksc's modules find each other beside themselves.
function classOf(name) {
  if (!classes.has(name)) {
    const [head, ...inner] = table.types[name].class;
    const loaded = require(path.join(folder, upper(head)));
    const found = inner.reduce((at, each) => at[upper(each)], loaded[upper(head)] || loaded);
    classes.set(name, found);
    names.set(found, name);
  }
  return classes.get(name);
}

function typeOf(value) {
  for (const name of Object.keys(table.types)) classOf(name);
  return names.get(value.constructor);
}

const hex = (bytes) => Buffer.from(bytes).toString("hex");

function plain(value, shape) {
  if (value === undefined || value === null) return null;
  if (shape.list) return value.map((each) => plain(each, shape.list));
  if (shape.type) return plain(value, table.types[shape.type].shape);
  if (shape.at) return plain(value[lower(shape.at)], shape.of);
  if (shape.fields) return fields(value, shape);
  switch (shape.kind) {
    case "any":
      return value instanceof Uint8Array ? hex(value) : plain(value, { type: typeOf(value) });
    case "number":
      return typeof value === "bigint" ? String(value) : Number(value);
    case "float":
      return Number.isFinite(value) ? value : Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
    case "uuid":
      return hex(value).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    case "bytes":
      return hex(value);
    default:
      return value;
  }
}

function fields(value, shape) {
  const found = {};
  for (const [name, each] of Object.entries(shape.fields)) {
    if (!each.section) {
      const made = plain(value[lower(name)], each);
      found[name] = made === null && name in shape.defaults ? shape.defaults[name] : made;
      continue;
    }
    const section = value[lower(name)];
    found[name] = [];
    for (const tag of section ? section[lower(each.section)] : []) {
      const known = each.known[tag.tag.value];
      const body = tag[lower(each.body)];
      if (known === undefined || body instanceof Uint8Array)
        found[name].push({ number: tag.tag.value, data: plain(body, { kind: "any" }) });
      else found[known[0]] = plain(body, known[1]);
    }
  }
  return { ...shape.defaults, ...found };
}

function answered(asked) {
  if (asked.do === "hello") {
    const version = `ksc, kaitai-struct ${require("kaitai-struct/package.json").version}, Node ${process.versions.node}`;
    const says = { protocol: 1, name: "ksc-javascript", language: "JavaScript", version };
    return { ...says, does: ["decode"], types: table.asked };
  }
  const told = table.types[asked.type].told.map(() => asked.version);
  try {
    const bytes = Buffer.from(asked.bytes, "hex");
    const stream = new KaitaiStream(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), 0);
    const value = new (classOf(asked.type))(stream, undefined, undefined, ...told);
    if (asked.exact && !stream.isEof()) return { error: { code: "malformed" } };
    return { value: plain(value, { type: asked.type }) };
  } catch (error) {
    return { error: { reason: String(error && error.message) } };
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const asked = JSON.parse(line);
  const text = JSON.stringify({ id: asked.id, ...answered(asked) }, (_, value) =>
    Object.is(value, -0) ? "-0.0" : value,
  );
  process.stdout.write(text + "\n");
});
