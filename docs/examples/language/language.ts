/** Each schema of this folder: an object is made, written, read, changed and written again. */

import { codecs } from "../src/codecs.js";
import * as formats from "../src/index.js";
import { Reader, Writer } from "../src/runtime.js";

function written<T>(value: T, write: (w: Writer, value: T) => void): Uint8Array {
  const w = new Writer(codecs);
  write(w, value);
  return w.finish();
}
const reader = (data: Uint8Array): Reader => new Reader(data, { codecs });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function orders(): Uint8Array[] {
  const created = formats.newOrdersEvent({
    kind: formats.OrdersKinds.created,
    body: formats.newOrdersCreated({ name: "book" }),
  });
  const moved = formats.newOrdersEvent({
    kind: formats.OrdersKinds.moved,
    body: formats.newOrdersMoved({ x: 3, y: -4 }),
  });
  const content = formats.newOrdersContent({ body: formats.newOrdersPayload({ note: "by hand" }) });
  const made = written(formats.newOrders({ events: [created, moved], content }), formats.writeOrders);
  const read = formats.readOrders(reader(made));
  // lengths and the checksum follow
  read.events = read.events.slice(0, 1);
  for (const each of read.events) each.body = formats.newOrdersCreated({ name: "a longer book" });
  return [made, written(read, formats.writeOrders)];
}

function pack(): Uint8Array[] {
  const sections = [
    formats.newPackSection({ name: "one", body: bytes("first section") }),
    formats.newPackSection({ name: "two", body: bytes("second") }),
  ];
  const magic = bytes("PACK");
  const made = written(formats.newPack({ magic, version: 1, sections }), formats.writePack);
  const read = formats.readPack(reader(made));
  // the second one moves
  for (const each of read.sections.slice(0, 1)) each.body = bytes("first section, which has grown");
  return [made, written(read, formats.writePack)];
}

function shift(): Uint8Array[] {
  const message = formats.newShift({ name: "night", replicas: [1, 2, 3], rack: "r7" });
  const made = written(message, formats.writeShift);
  const read = formats.readShift(reader(made));
  // version 1 has no tagged fields
  const changed = { ...read, version: 1, rack: "", replicas: null };
  return [made, written(changed, formats.writeShift)];
}

function telemetry(): Uint8Array[] {
  const frame = formats.newTelemetry({
    sync: Uint8Array.of(0xeb, 0x90),
    vehicle: 700,
    mode: formats.TelemetryModes.cruise,
    seqFlags: 2,
    gps: formats.newTelemetryGps({ lat: -5, lon: 6 }),
    samples: [
      formats.newTelemetrySample({ channel: 1, value: 0x234 }),
      formats.newTelemetrySample({ channel: 5, value: 0x678 }),
    ],
  });
  const made = written(frame, formats.writeTelemetry);
  const read = formats.readTelemetry(reader(made));
  // hasGps becomes false
  read.gps = null;
  read.samples.push(formats.newTelemetrySample({ channel: 9, value: 1 }));
  return [made, written(read, formats.writeTelemetry)];
}

function chunks(): Uint8Array[] {
  const head = formats.newChunksChunk({
    kind: "HEAD",
    body: formats.newChunksHead({ width: 640, height: 480 }),
  });
  const text = formats.newChunksChunk({ kind: "TEXT", body: formats.newChunksText({ value: "hello" }) });
  const made = written(formats.newChunks({ chunks: [head, text] }), formats.writeChunks);
  const read = formats.readChunks(reader(made));
  for (const each of read.chunks.slice(1)) each.body = formats.newChunksText({ value: "hello, world" });
  read.chunks.push(formats.newChunksChunk({ kind: "OTHR", body: Uint8Array.of(1, 2) }));
  return [made, written(read, formats.writeChunks)];
}

function compressed(): string {
  const body = formats.newOrdersPayload({ note: "by hand" });
  const content = formats.newOrdersContent({ codec: formats.OrdersCodecs.gzip, body });
  const read = formats.readOrders(reader(written(formats.newOrders({ content }), formats.writeOrders)));
  return read.content.body.note;
}

for (const [name, of] of Object.entries({ orders, pack, shift, telemetry, chunks })) {
  of().forEach((data, index) => {
    console.log(name, index === 0 ? "made" : "changed", Buffer.from(data).toString("hex"));
  });
}
console.log("compressed", compressed());
