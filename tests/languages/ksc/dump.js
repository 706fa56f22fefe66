// What ksc's JavaScript readers make of bytes, in the words of bridge.py.
//
//   node dump.js TABLE FOLDER
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");
const { KaitaiStream } = require("kaitai-struct");

const [, , table, folder] = process.argv;
const rows = fs.readFileSync(table, "utf8").trim().split("\n").map((line) => line.split(" "));
const classes = rows.map(([name]) => {
  const [head, ...inner] = name.split(".");
  return inner.reduce((at, each) => at[each], require(path.join(folder, head))[head]);
});
const rowOf = new Map(classes.map((kind, number) => [kind, number]));

function dump(value, kind) {
  if (value === undefined || value === null) return "null";
  if (Array.isArray(value)) return `[${value.map((each) => dump(each, kind)).join()}]`;
  if (value instanceof Uint8Array || typeof value === "string") return `"${Buffer.from(value).toString("hex")}"`;
  if (kind === "f") {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    return `{"f":"${bytes.toString("hex")}"}`;
  }
  if (typeof value !== "object") return String(BigInt(value));
  const number = rowOf.get(value.constructor);
  const found = rows[number].slice(1).map((each) => dump(value[each.slice(2)], each[0]));
  return `{"${number}":[${found.join()}]}`;
}

function answer(line) {
  const [number, version, data] = line.split(" ");
  const told = version === "-" ? [] : [Number(version)];
  try {
    const bytes = Uint8Array.from(Buffer.from(data, "hex"));
    const stream = new KaitaiStream(bytes.buffer, 0);
    const value = dump(new classes[number](stream, undefined, undefined, ...told));
    return (stream.isEof() ? "V" : "R") + value;
  } catch (error) {
    return `E${error.name}`;
  }
}

console.log(`kaitai-struct ${require("kaitai-struct/package.json").version}, Node ${process.versions.node}`);
readline.createInterface({ input: process.stdin }).on("line", (line) => console.log(answer(line)));
