/** A program that answers a line of JSON for each that it reads: what the generated TypeScript makes of bytes. */

import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

import { codecs } from "../src/codecs.js";
import { FormatError, Reader, Writer } from "../src/runtime.js";
import { instances, type Kind, shapes, types } from "./types.js";

interface Request {
  readonly id: number;
  readonly do: string;
  readonly type: string;
  readonly version?: number;
  readonly bytes?: string;
  readonly value?: unknown;
  readonly exact?: boolean;
  readonly limit?: number;
  readonly elements?: number;
  readonly depth?: number;
  /** Whether the value has these too, each as a value or an error. */
  readonly instances?: boolean;
  /** What is changed before what was read is written again. */
  readonly edits?: readonly Edit[];
}

interface Edit {
  readonly path: readonly (string | number)[];
  readonly how: "set" | "pop" | "double" | "clear" | "reverse";
  readonly value?: unknown;
}

/** How many instances in instances a value has. */
let deepest = 0;

// begins a string whose rest is printed as a number; no text that is read can have it
const NUMBER = randomUUID();
const NUMBERS = new RegExp(`"${NUMBER}([^"]*)"`, "g");
const does = ["decode", "encode", "round_trip"];

/** Changes a field of an object. */
function edit(value: unknown, { path, how, value: given }: Edit, type: string): void {
  let kind: Kind = ["object", type];
  let at = value as Record<string | number, unknown>;
  for (const [index, step] of path.entries()) {
    if (kind[0] === "null") kind = kind[1];
    if (kind[0] === "one") kind = (kind[1] as Kind[]).find((each) => isOf(at, each)) ?? "bytes";
    let own: string | number = step;
    if (kind[0] === "list") kind = kind[1];
    else {
      const field: [string, string, Kind] | undefined = shapes[String(kind[1])]?.find(
        ([name]) => name === step,
      );
      if (field === undefined) throw new Error(`no field ${String(step)}`);
      [, own, kind] = field;
    }
    if (index + 1 < path.length) {
      at = at[own] as Record<string | number, unknown>;
      continue;
    }
    const items = at[own] as unknown[];
    if (how === "set") at[own] = made(given, kind);
    else if (how === "pop") at[own] = items.slice(0, -1);
    else if (how === "clear") at[own] = [];
    else if (how === "reverse") at[own] = [...items].reverse();
    else at[own] = [...items, ...items.filter((each) => !isObject(each))];
  }
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && "$type" in value;
}

function answer(asked: Request): object {
  if (asked.do === "hello") {
    const version = process.versions.node;
    return {
      protocol: 1,
      name: "kodec-typescript",
      language: "TypeScript",
      version,
      does,
      types: Object.keys(types).filter((name) => types[name]?.read !== undefined),
      reads: Object.keys(types).filter((name) => types[name]?.write === undefined),
    };
  }
  const type = types[asked.type];
  if (type?.read === undefined || ![...does, "rewrite"].includes(asked.do))
    return { unsupported: `${asked.do} ${asked.type}` };
  const version = asked.version ?? 0;
  const written = (value: unknown): object => {
    const w = new Writer(codecs);
    type.write?.(w, value, version);
    return { bytes: Buffer.from(w.finish()).toString("hex") };
  };
  if (asked.do === "encode" && type.write === undefined)
    return { unsupported: "streamed types are only read" };
  if (asked.do === "encode")
    return attempted("error", () => written(made(asked.value, ["object", asked.type])));
  return attempted("error", () => {
    const maxDecompressed = asked.limit ?? 256 * 2 ** 20;
    const limits = { maxElements: asked.elements ?? 4_000_000, maxDepth: asked.depth ?? 100 };
    const r = new Reader(Buffer.from(asked.bytes ?? "", "hex"), { codecs, maxDecompressed, ...limits });
    const found = type.read?.(r, version);
    if (asked.exact === true) r.requireEnd("");
    if (asked.do === "rewrite") {
      if (type.write === undefined) return { unsupported: "streamed types are only read" };
      for (const each of asked.edits ?? []) edit(found, each, asked.type);
      return written(found);
    }
    deepest = asked.instances === true ? 4 : 0;
    const value = plain(found, ["object", asked.type]);
    if (asked.do === "decode" || type.write === undefined) return { value };
    return { value, ...attempted("encode_error", () => written(found)) };
  });
}

/** The answer of a step, or its error; any other error than ours ends the program. */
function attempted(name: string, step: () => object): object {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const { code, path, at, need, have } = error;
    return { [name]: { code, path, at, need: fact(need), have: fact(have) } };
  }
}

function fact(value: unknown): unknown {
  return typeof value === "number" || typeof value === "string" ? value : undefined;
}

/** A value as the protocol has it. */
function plain(value: unknown, kind: Kind): unknown {
  if (value === null) return null;
  if (Array.isArray(kind)) {
    const [how, of] = kind;
    switch (how) {
      case "null":
        return plain(value, of);
      case "list":
        return (value as unknown[]).map((each) => plain(each, of));
      case "one":
        return plain(value, of.find((each) => isOf(value, each)) ?? "bytes");
      case "object": {
        const fields = shapes[of] ?? [];
        const found = value as Record<string, unknown>;
        const kept = fields.map(([name, own, inner]): [string, unknown] => [name, plain(found[own], inner)]);
        if (deepest > 0) {
          deepest--;
          for (const [name, own, inner] of instances[of] ?? []) {
            const made = attempted("error", () => ({ value: plain(found[own], inner) }));
            kept.push([name, "value" in made ? made.value : made]);
          }
          deepest++;
        }
        return Object.fromEntries(kept);
      }
    }
  }
  switch (kind) {
    case "bytes":
      return Buffer.from(value as Uint8Array).toString("hex");
    case "bigint":
      return (value as bigint).toString();
    case "float":
      return Number.isSafeInteger(value) === Number.isInteger(value) &&
        Number.isFinite(value) &&
        !Object.is(value, -0)
        ? value
        : floatName(value as number);
    case "stream":
      return "stream";
    case "tags":
      return (value as { number: number; data: Uint8Array }[]).map(({ number, data }) => ({
        number,
        data: plain(data, "bytes"),
      }));
    case "text":
      return /\p{Surrogate}/u.test(value as string) ? { raw: raw(value as string) } : value;
    default:
      return value;
  }
}

/** The value of a float that JSON.stringify does not print, or not exactly. */
function floatName(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (value === 0) return `${NUMBER}-0.0`;
  if (Number.isFinite(value)) return `${NUMBER}${value.toExponential()}`;
  return value > 0 ? "inf" : "-inf";
}

/** The bytes of a text that is not UTF-8. */
function raw(text: string): string {
  const w = new Writer();
  w.chars("", text);
  return Buffer.from(w.finish()).toString("hex");
}

function isOf(value: unknown, kind: Kind): boolean {
  if (!Array.isArray(kind)) {
    if (kind === "bytes") return value instanceof Uint8Array;
    return typeof value === ({ text: "string", uuid: "string", float: "number" }[kind] ?? kind);
  }
  const [how, of] = kind;
  if (how === "list") return Array.isArray(value);
  if (how !== "object") return false;
  return typeof value === "object" && value !== null && "$type" in value && value.$type === of;
}

/** The value of what the protocol has. */
function made(value: unknown, kind: Kind): unknown {
  if (value === null) return null;
  if (Array.isArray(kind)) {
    const [how, of] = kind;
    switch (how) {
      case "null":
        return made(value, of);
      case "list":
        return (value as unknown[]).map((each) => made(each, of));
      case "one":
        return made(value, of.find((each) => mayBe(value, each)) ?? "bytes");
      case "object": {
        const found = value as Record<string, unknown>;
        const given = [...(shapes[of] ?? []), ...(instances[of] ?? [])].filter(([name]) => name in found);
        return make(
          of,
          Object.fromEntries(given.map(([name, own, inner]) => [own, made(found[name], inner)])),
        );
      }
    }
  }
  switch (kind) {
    case "bytes":
      return Uint8Array.from(Buffer.from(value as string, "hex"));
    case "bigint":
      return BigInt(value as string | number);
    case "number":
    case "float":
      return typeof value === "string" ? Number(value.replace("inf", "Infinity")) : value;
    case "stream":
      return "stream";
    case "tags":
      return (value as { number: number; data: string }[]).map(({ number, data }) => ({
        number,
        data: made(data, "bytes"),
      }));
    case "text": {
      if (typeof value === "string") return value;
      const bytes = Buffer.from((value as { raw: string }).raw, "hex");
      return new Reader(bytes).chars("", bytes.length);
    }
    default:
      return value;
  }
}

function make(type: string, fields: object): unknown {
  const known = types[type];
  if (known === undefined) throw new Error(`no type ${type}`);
  return known.make?.(fields);
}

/** Whether what the protocol has is of a case: an object has just its fields. */
function mayBe(value: unknown, kind: Kind): boolean {
  if (!Array.isArray(kind)) {
    const found = typeof value;
    if (kind === "tags") return Array.isArray(value);
    if (kind === "bigint" || kind === "float") return found === "string" || found === "number";
    if (kind === "text" && found === "object") return value !== null && "raw" in (value as object);
    return found === ({ bytes: "string", text: "string", uuid: "string" }[kind] ?? kind);
  }
  if (kind[0] === "null") return value === null || mayBe(value, kind[1]);
  if (kind[0] === "one") return kind[1].some((each) => mayBe(value, each));
  if (kind[0] === "list") return Array.isArray(value) && value.every((each) => mayBe(each, kind[1]));
  if (typeof value !== "object" || value === null) return false;
  const type = String(kind[1]);
  const known = new Map(
    [...(shapes[type] ?? []), ...(instances[type] ?? [])].map(([name, , of]) => [name, of]),
  );
  return Object.entries(value).every(([name, each]) => {
    const of = known.get(name);
    return of !== undefined && mayBe(each, of);
  });
}

for await (const text of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(text) as Request;
  const line = JSON.stringify({ id: asked.id, ...answer(asked) });
  process.stdout.write(`${line.replace(NUMBERS, "$1")}\n`);
}
