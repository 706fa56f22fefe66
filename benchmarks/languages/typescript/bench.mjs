// Our generated TypeScript beside kafkajs on the same bytes: rounds in turn, the median of each.
//
//     node bench.mjs PACKAGE KAFKAJS CORPUS ROUNDS    a line of JSON for each kind of bytes
//
// PACKAGE is the built package, KAFKAJS the folder of the npm package, CORPUS a JSON file of {name: hex}.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [ours, theirs, corpus, rounds] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${ours}/dist/src/${name}.js`));
const kodec = await load("index");
const { codecs } = await load("codecs");
const require = createRequire(import.meta.url);
const kafkajs = (name) => require(`${theirs}/src/${name}`);

const { MemberAssignment, MemberMetadata } = kafkajs("consumer/assignerProtocol");
const Decoder = kafkajs("protocol/decoder");
const Encoder = kafkajs("protocol/encoder");
const decodeBatch = kafkajs("protocol/recordBatch/v0/decoder");
const { RecordBatch: encodeBatch } = kafkajs("protocol/recordBatch/v0");
const encodeRecord = kafkajs("protocol/recordBatch/record/v0");
const response = (path) => kafkajs(`protocol/requests/${path}/response`);

/** (what kodec does, what kafkajs does) with the bytes of one kind, and with what they hold. */
function reading(type, decode, options = {}) {
  return (data) => [() => kodec[`read${type}`](new kodec.Reader(data, options)), () => decode(data)];
}

function writing(type, decoded, encode) {
  return (data) => {
    const value = kodec[`read${type}`](new kodec.Reader(data));
    const other = decoded(data);
    const w = new kodec.Writer(codecs);
    const write = () => {
      kodec[`write${type}`](w, value);
      return w.finish();
    };
    if (Buffer.compare(write(), data) !== 0) throw new Error(`kodec writes other bytes of ${type}`);
    return [write, () => encode(other)];
  };
}

// kafkajs goes over batches one behind the other; its decoder waits where it would decompress
const batches = (data) => decodeBatch(new Decoder(data));

function recordsOf(data) {
  const batch = kodec.readRecordBatch(new kodec.Reader(data));
  const firstTimestamp = Number(batch.baseTimestamp);
  const records = batch.records.map(({ body }) => ({
    offsetDelta: body.offsetDelta,
    timestampDelta: Number(body.timestampDelta),
    key: Buffer.from(body.key),
    value: Buffer.from(body.value),
    headers: Object.fromEntries(body.headers.map(({ key, value }) => [key, Buffer.from(value)])),
  }));
  const { maxTimestamp, lastOffsetDelta, producerId, producerEpoch, baseSequence: firstSequence } = batch;
  return {
    records,
    head: {
      firstTimestamp,
      maxTimestamp: Number(maxTimestamp),
      lastOffsetDelta,
      producerId,
      producerEpoch,
      firstSequence,
    },
  };
}

async function writeBatch({ records, head }) {
  return (await encodeBatch({ ...head, records: records.map(encodeRecord) })).buffer;
}

const work = {
  "assignment, read": ["assignment", reading("ConsumerProtocolAssignment", MemberAssignment.decode)],
  "assignment, write": [
    "assignment",
    writing("ConsumerProtocolAssignment", MemberAssignment.decode, MemberAssignment.encode),
  ],
  "subscription, read": ["subscription", reading("ConsumerProtocolSubscription", MemberMetadata.decode)],
  "subscription, write": [
    "subscription",
    writing("ConsumerProtocolSubscription", MemberMetadata.decode, MemberMetadata.encode),
  ],
  "records of 100 bytes, read": ["batch_100", reading("RecordBatch", batches)],
  "the same, checksum not verified": [
    "batch_100",
    reading("RecordBatch", batches, { ignoreChecksums: true, ignoreDerived: true }),
  ],
  "records of 1,000 bytes with headers, read": ["batch_1000", reading("RecordBatch", batches)],
  "records of 100 bytes, write": ["batch_100", writing("RecordBatch", recordsOf, writeBatch)],
};

/** Nanoseconds of processor time for one of so many steps: other programs run on the machine, too. */
async function timed(step, times) {
  const start = process.cpuUsage();
  for (let i = 0; i < times; i++) {
    const found = step();
    if (found instanceof Promise) await found;
  }
  const { user, system } = process.cpuUsage(start);
  return (1000 * (user + system)) / times;
}

const bytes = JSON.parse(readFileSync(corpus, "utf8"));
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
for (const [name, [kind, steps]] of Object.entries(work)) {
  const data = Buffer.from(bytes[kind], "hex");
  const both = steps(data);
  const times = [];
  for (const step of both) {
    await timed(step, 200);
    times.push(Math.max(1, Math.round(2e7 / (await timed(step, 200)))));
  }
  const found = both.map(() => []);
  for (let round = 0; round < Number(rounds); round++) {
    for (const [at, step] of both.entries()) found[at].push(await timed(step, times[at]));
  }
  const [kodecTime, kafkajsTime] = found.map(median);
  console.log(JSON.stringify({ name, bytes: data.length, kodec: kodecTime, kafkajs: kafkajsTime }));
}
