// Compiles parsed .ksy schemas with the stock Kaitai Struct compiler.
//
//   node compile.js OUT < JOB
//
// JOB is JSON: {"targets": ["python", ...], "schemas": {"log/record": {the schema as parsed YAML}, ...}}. Imports are
// relative to the importing schema. Each target's files go to OUT/TARGET/. Prints one line of JSON: {"failures":
// [{"target", "schema", "error"}]}. NODE_PATH says where the package kaitai-struct-compiler is.
"use strict";
const fs = require("fs");
const path = require("path");
const ksc = require("kaitai-struct-compiler");

// ksc itself resolves an import of an import, so every name that comes here is relative to the schema that it compiles.
function importsFrom(schema, schemas) {
  return {
    importYaml(name, mode) {
      const found = schemas[mode === "abs" ? name : path.posix.join(path.posix.dirname(schema), name)];
      return found ? Promise.resolve(found) : Promise.reject(new Error(`no schema for the import ${name}`));
    },
  };
}

async function main(out) {
  const job = JSON.parse(fs.readFileSync(0, "utf8"));
  const failures = [];
  for (const target of job.targets) {
    const folder = path.join(out, target);
    for (const [schema, spec] of Object.entries(job.schemas)) {
      try {
        const files = await ksc.compile(target, spec, importsFrom(schema, job.schemas), false);
        for (const [name, text] of Object.entries(files)) {
          fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
          fs.writeFileSync(path.join(folder, name), text);
        }
      } catch (error) {
        failures.push({ target, schema, error: String((error && error.message) || error) });
      }
    }
  }
  console.log(JSON.stringify({ failures }));
}

main(process.argv[2]);
