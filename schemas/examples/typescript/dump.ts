/** Prints every record of log segments as a line of JSON. */

import { readFileSync } from "node:fs";

import { codecs } from "../src/codecs.js";
import {
  FormatError,
  type MessageSetEntry,
  MessageSetTimestampType,
  Reader,
  readLogSegmentEntry,
  type RecordBatch,
  RecordBatchTimestampType,
} from "../src/index.js";

function dump(data: Buffer): void {
  let pos = 0;
  while (pos < data.length) {
    const rest = data.subarray(pos);
    if (rest.length < 17 || 12 + rest.readUInt32BE(8) > rest.length || rest.every((byte) => byte === 0)) {
      process.stderr.write(`torn tail: ${String(rest.length)} bytes at byte ${String(pos)}\n`);
      return;
    }
    const r = new Reader(rest, { codecs });
    try {
      const { body } = readLogSegmentEntry(r);
      if (body !== null && "$type" in body) {
        if (body.$type === "record_batch") showBatch(body);
        else showMessage(body);
      } else {
        const magic = String(rest.readInt8(16));
        process.stderr.write(`entry at byte ${String(pos)}: unknown magic ${magic}\n`);
        process.exitCode = 1;
        return;
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      process.stderr.write(`entry at byte ${String(pos)}: ${error.message}\n`);
      process.exitCode = 1;
      return;
    }
    pos += r.pos;
  }
}

function showBatch(batch: RecordBatch): void {
  const { isControl, timestampType } = batch.attributes;
  const appended = timestampType === RecordBatchTimestampType.logAppendTime ? batch.maxTimestamp : null;
  for (const { body } of batch.records) {
    const offset = batch.baseOffset + BigInt(body.offsetDelta);
    show(offset, appended ?? batch.baseTimestamp + body.timestampDelta, isControl, body.key, body.value);
  }
}

function showMessage(entry: MessageSetEntry): void {
  const outer = entry.message;
  const inner = outer.value !== null && "$type" in outer.value ? outer.value.entries : null;
  if (inner === null) {
    const at = outer.magic === 0 ? null : outer.timestamp;
    show(entry.offset, at, false, outer.key, outer.value as Uint8Array | null);
    return;
  }
  // in magic 1 the offsets inside count from 0, and the wrapper has that of the last one
  const isRelative = outer.magic !== 0 && entry.offset !== 0n;
  const base = isRelative ? entry.offset - (inner.at(-1)?.offset ?? 0n) : 0n;
  const appended = outer.attributes.timestampType === MessageSetTimestampType.logAppendTime;
  for (const { offset, message } of inner) {
    const at = appended ? outer.timestamp : message.timestamp;
    const value = message.value as Uint8Array | null;
    show(base + offset, message.magic === 0 ? null : at, false, message.key, value);
  }
}

function show(
  offset: bigint,
  at: bigint | null,
  control: boolean,
  key: Uint8Array | null,
  value: Uint8Array | null,
): void {
  const text = (data: Uint8Array | null): string =>
    data === null ? "null" : `"${Buffer.from(data).toString("hex")}"`;
  lines.push(
    `{"offset": ${String(offset)}, "timestamp": ${String(at)}, "control": ${String(control)}, ` +
      `"key": ${text(key)}, "value": ${text(value)}}\n`,
  );
}

const lines: string[] = [];
for (const path of process.argv.slice(2)) {
  dump(readFileSync(path));
  process.stdout.write(lines.splice(0).join(""));
}
