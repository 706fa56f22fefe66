// What packages make of bytes, by the places of values alone: node names.mjs FOLDER PACKAGES BYTES
import { readFileSync } from "node:fs";

const [, , folder, packages, file] = process.argv;
const asked = JSON.parse(readFileSync(file, "utf8"));

function unnamed(value) {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value).flatMap(([name, each]) => (name === "$type" ? [] : [unnamed(each)]));
}

for (let at = 0; at < Number(packages); at++) {
  const made = await import(`${folder}/dist/r${at}/src/index.js`);
  const { codecs } = await import(`${folder}/dist/r${at}/src/codecs.js`);
  const found = [];
  const both = (type, value, told) => {
    const w = new made.Writer(codecs);
    made[`write${type}`](w, value, ...told);
    return [unnamed(value), Buffer.from(w.finish()).toString("hex")];
  };
  for (const [type, bytes, ...told] of asked) {
    try {
      const value =
        bytes === null
          ? made[`new${type}`]()
          : made[`read${type}`](new made.Reader(Buffer.from(bytes, "hex"), { codecs }), ...told);
      found.push(both(type, value, told));
    } catch (error) {
      if (!(error instanceof made.FormatError)) throw error;
      found.push([error.code, error.at]);
    }
  }
  console.log(JSON.stringify(found));
}
