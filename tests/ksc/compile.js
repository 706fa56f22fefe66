// Compiles parsed .ksy schemas with the stock Kaitai Struct compiler.
//
//   node compile.js OUT < JOB
//
// JOB is JSON: {"targets": ["python", ...], "schemas": {"log/record": {the schema as parsed YAML}, ...}}. Imports are
// relative to the importing schema. Each target's files go to OUT/TARGET/. Prints one line of JSON: {"failures":
// [{"target", "schema", "error"}]}. Several jobs are a list, each with its own `out`; the answers are a list too.
// NODE_PATH is the folder with the package kaitai-struct-compiler. With KSC_READ_WRITE=1 the classes can be written: the
// command line of ksc has `--read-write`, which the library does not take, so the place where it is off is changed.
"use strict";
const fs = require("fs");
const Module = require("module");
const path = require("path");
const ksc = process.env.KSC_READ_WRITE ? readWrite() : require("kaitai-struct-compiler");

function readWrite() {
  const file = require.resolve("kaitai-struct-compiler");
  const reading = "_RuntimeConfig((!debug), debug, false, true, false,";
  const text = fs.readFileSync(file, "utf8");
  if (text.split(reading).length !== 2) throw new Error("this version of ksc has its settings elsewhere");
  const found = new Module(file, module);
  found._compile(text.replace(reading, "_RuntimeConfig(false, false, false, false, true,"), file);
  return found.exports;
}

// ksc itself resolves an import of an import, so every name that comes here is relative to the schema that it compiles.
function importsFrom(schema, schemas) {
  return {
    importYaml(name, mode) {
      const found = schemas[mode === "abs" ? name : path.posix.join(path.posix.dirname(schema), name)];
      return found ? Promise.resolve(found) : Promise.reject(new Error(`no schema for the import ${name}`));
    },
  };
}

// Some errors inside ksc leave its promise pending for ever.
function settled(promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("no answer")), 1000)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function run(job, out) {
  const failures = [];
  for (const target of job.targets) {
    const folder = path.join(out, target);
    for (const [schema, spec] of Object.entries(job.schemas)) {
      try {
        const files = await settled(ksc.compile(target, spec, importsFrom(schema, job.schemas), false));
        for (const [name, text] of Object.entries(files)) {
          fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
          fs.writeFileSync(path.join(folder, name), text);
        }
      } catch (error) {
        failures.push({ target, schema, error: String((error && error.message) || error) });
      }
    }
  }
  return { failures };
}

async function main(out) {
  const given = JSON.parse(fs.readFileSync(0, "utf8"));
  if (!Array.isArray(given)) return run(given, out);
  const answers = [];
  for (const job of given) answers.push(await run(job, job.out));
  return answers;
}

main(process.argv[2]).then((answer) => console.log(JSON.stringify(answer)));
