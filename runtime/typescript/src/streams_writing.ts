/** What generated writers of streamed schemas share: bytes that are written, and fields that are computed. */

import { deflateSync, inflateSync } from "node:zlib";

import { FormatError, notEncodable, Reader, Writer } from "./runtime.js";
import { encode, type Kept, packed, type Placement, same, Source, StreamedObject } from "./streams.js";

const MOST_PASSES = 64;
const MOST_ZEROS = 1 << 24;
const NO_PLACE = "bytes after it have no place any more";

/** What a field, or an element of it, becomes so that a size is as wanted. */
export interface Change {
  /** The object; a sink whose size is what would have to change. */
  readonly of: object | null;
  readonly name: string;
  readonly value: unknown;
  readonly index?: bigint;
}
/** A way to have what is wanted: one change, or several that go together; null if it does not apply. */
export type Way = Change | readonly Way[] | null;
/** The ways to have what is wanted. */
export type Solve = (wanted: never) => readonly Way[];
export type Solvers = Readonly<Record<string, Solve>>;
/** A field that is computed: what stands in it until then, and whether it may be absent. */
export type Followed = readonly [name: string, blank: unknown, isOptional: boolean];

type Members = Record<string, unknown>;
type Class<T> = abstract new (...given: never[]) => T;

interface Done {
  readonly of: object;
  readonly name: string;
  readonly value: unknown;
  readonly index: bigint | undefined;
}
interface Changed {
  readonly of: object;
  readonly name: string;
  readonly text: string;
  readonly by: string;
}

/** Values by object and field. */
class Table<T> {
  private readonly rows = new Map<object, Map<string, T>>();

  get size(): number {
    let found = 0;
    for (const row of this.rows.values()) found += row.size;
    return found;
  }
  get(of: object, name: string): T | undefined {
    return this.rows.get(of)?.get(name);
  }
  has(of: object, name: string): boolean {
    return this.rows.get(of)?.has(name) === true;
  }
  set(of: object, name: string, value: T): void {
    let row = this.rows.get(of);
    if (row === undefined) this.rows.set(of, (row = new Map<string, T>()));
    row.set(name, value);
  }
  delete(of: object, name: string): void {
    this.rows.get(of)?.delete(name);
  }
  *entries(): Iterable<[object, string, T]> {
    for (const [of, row] of this.rows) for (const [name, value] of row) yield [of, name, value];
  }
}

/** What changes while an object is written, in as many passes as it takes. */
class Settling {
  strict = false;
  /** Whether zeros of new objects were given. */
  private readonly hasZeros: boolean;
  /** What is in numbers that are not known yet: 0 may mean something of its own. */
  private number = 0;
  private readonly journal = new Table<unknown>();
  readonly blank = new Table<true>();
  readonly lists = new Set<unknown>();
  readonly sizes = new Map<unknown, number>();
  readonly starts = new Map<unknown, [Sink, number]>();
  readonly own = new Set<unknown>();
  readonly inserted = new Map<unknown, Placed[]>();
  private readonly origins = new Table<bigint | null>();
  private readonly written = new Map<StreamedObject, StreamedObject["_spans"]>();
  /** Objects that were written, what they hold before them. */
  finished: StreamedObject[] = [];
  readonly nodes = new Set<StreamedObject>();
  /** Whether something stands in a field that was not given. */
  hasFilled = false;
  changes: Changed[] = [];
  doubtful = false;
  guesses = 0;
  later: (() => void)[] = [];
  private moved = new Map<Uint8Array, Map<number, Map<number, number>>>();
  private placed: StreamedObject[] = [];
  /** Objects all of whose instances were read, and those for which that is needed. */
  readonly touched = new Set<StreamedObject>();
  private unread: StreamedObject[] = [];

  constructor(hasZeros: boolean) {
    this.hasZeros = hasZeros;
  }

  private begin(): void {
    this.changes = [];
    this.doubtful = false;
    this.guesses = 0;
    this.later = [];
    this.moved = new Map<Uint8Array, Map<number, Map<number, number>>>();
    this.placed = [];
    this.unread = [];
    this.finished = [];
    this.nodes.clear();
  }

  /** Whether what stands behind an object has to be read before it can move; then the pass is made again. */
  isUnread(value: StreamedObject): boolean {
    if (this.touched.has(value)) return false;
    this.unread.push(value);
    return true;
  }

  private readInstances(): boolean {
    for (const each of this.unread) {
      touch(each);
      this.touched.add(each);
    }
    return this.unread.length > 0;
  }

  /** The bytes, once nothing changes any more. */
  run(write: () => Uint8Array): Uint8Array {
    let before: Changed[] = [];
    let first: FormatError | undefined;
    for (let pass = 0; pass < MOST_PASSES; pass++) {
      this.begin();
      let data: Uint8Array | undefined;
      try {
        data = write();
        if (this.changes.length === 0) this.relocate();
        if (this.changes.length === 0) this.derive();
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        if (this.readInstances()) continue;
        if (this.changes.length === 0) {
          if (!this.tryAnother()) throw first ?? error;
          first = error;
          continue;
        }
      }
      if (this.changes.length === 0 && this.doubtful && !this.strict) {
        this.strict = true;
        continue;
      }
      if (this.changes.length === 0 && data !== undefined) {
        // only a number that was put in its place is wrong: a zero may have been given
        if (first !== undefined && this.blank.size > 0) throw first;
        return data;
      }
      if (isSame(this.changes, before)) break;
      before = this.changes;
    }
    return this.contradicted();
  }

  /** Has all fields be what they were. */
  restore(): void {
    for (const [of, name, value] of this.journal.entries()) (of as Members)[name] = value;
    for (const [node, spans] of this.written) {
      node._spans = spans;
      node._out = undefined;
      node._taught = undefined;
    }
  }

  private contradicted(): never {
    for (const { of, name } of this.changes) {
      if (!this.journal.has(of, name)) continue;
      const others = this.changes.filter((each) => each.of === of && each.name === name && each.by !== "");
      const who = [...new Set(others.map((each) => each.by))].join(" and ");
      throw notEncodable(labelOf(of, name), `no value of it is right for ${who}`, this.journal.get(of, name));
    }
    throw notEncodable("", "what it is computed of changes with it");
  }

  /** Notes that an object is written. */
  enter(node: StreamedObject, sink: Sink): void {
    node._out = sink;
    if (!this.written.has(node)) this.written.set(node, node._spans);
    node._spans = undefined;
    this.nodes.add(node);
    for (const [name, blank, isOptional] of node._followed()) {
      const isNew = node._source() === undefined && !this.hasZeros;
      if (!isOptional && isBlank((node as unknown as Members)[name], isNew)) this.fill(node, name, blank);
    }
    const pos = Number(sink.pos());
    this.starts.set(node, [sink.owner, pos]);
    const source = node._source();
    if (source === undefined) return;
    const before = node._start - source.base;
    if (before !== pos && sink === sink.owner) {
      let streams = this.moved.get(source.bytes);
      if (streams === undefined) {
        streams = new Map<number, Map<number, number>>();
        this.moved.set(source.bytes, streams);
      }
      let moves = streams.get(source.base);
      if (moves === undefined) streams.set(source.base, (moves = new Map<number, number>()));
      if (!moves.has(before)) moves.set(before, pos);
    }
    const placements = node._placements();
    if (placements.length === 0) return;
    this.placed.push(node);
    for (const { name, position } of placements) {
      if (this.origins.has(node, name)) continue;
      let found: bigint | null = null;
      try {
        found = position();
      } catch {
        // an object that is missing is reported when it is written
      }
      this.origins.set(node, name, found);
    }
  }

  /** Has positions follow what has moved. */
  private relocate(): void {
    for (const node of this.placed) {
      for (const { name, label, position, solve } of node._placements()) {
        if (solve === null) continue;
        const source = node._source();
        const moves = source === undefined ? undefined : this.moved.get(source.bytes)?.get(source.base);
        const before = this.origins.get(node, name);
        if (moves === undefined || before === undefined || before === null) continue;
        const to = moves.get(Number(before));
        const now = position();
        if (to === undefined || now === BigInt(to)) continue;
        this.settle(label, BigInt(to), now, solve, "moved");
      }
    }
  }

  /** Computes what follows from bytes that are there now. */
  private derive(): void {
    for (const each of this.finished) if (each._out !== undefined) each._derive(each._out);
  }

  /** Has a field be what it is derived of; through an instance where it is the value of one. */
  derived(label: string, of: object, name: string, have: unknown, value: unknown, isInstance: boolean): void {
    if (isMissing(have)) return;
    if (!isInstance) this.change({ of, name, value, index: undefined }, `-derive of ${label}`);
    else if (!isSame(have, value)) {
      this.settle(label, value, have, (wanted) => [{ of, name, value: wanted }], "-derive");
    }
  }

  // -- which fields ---------------------------------------------------------------------------

  /** How what a member is computed of follows from it; null of a field. */
  private solverOf(of: object, name: string): Solve | null {
    if (!(of instanceof StreamedObject)) return null;
    return of._solvers()[name] ?? of._taught?.[name] ?? null;
  }

  private mayChange(of: object, name: string): boolean {
    if (!(of instanceof StreamedObject)) return false;
    return (
      of._followed().some((each) => each[0] === name) || of._placements().some((each) => each.name === name)
    );
  }

  /** Each way to have what is wanted: the fields that change, with what they become. */
  ways(found: readonly Way[]): Done[][] {
    const ways: Done[][] = [];
    for (const each of found) {
      for (const way of this.way(each)) if (!ways.some((other) => isAlike(other, way))) ways.push(way);
    }
    return ways;
  }

  private *way(found: Way): Iterable<Done[]> {
    if (found === null) return;
    if (isList(found)) {
      const parts = found.map((each) => [...this.way(each)]);
      if (parts.every((part) => part.length === 1)) yield parts.flatMap((part) => part[0] ?? []);
      return;
    }
    const { of, name, value, index } = found;
    if (of === null) return;
    const solve = this.solverOf(of, name);
    if (solve !== null) for (const each of solve(value as never)) yield* this.way(each);
    else if (this.mayChange(of, name)) yield [{ of, name, value, index }];
  }

  /** Whether the size of a stream is among what has to change. */
  private byStream(found: readonly Way[]): boolean {
    return found.some((each) => {
      if (each === null) return false;
      if (isList(each)) return this.byStream(each);
      if (each.of instanceof Sink) return true;
      const solve = each.of === null ? null : this.solverOf(each.of, each.name);
      return solve !== null && this.byStream(solve(each.value as never));
    });
  }

  // -- what they become -----------------------------------------------------------------------

  /** As `settle`, but a size that follows from that of a stream must be right once that is known. */
  resize(
    name: string,
    wanted: bigint,
    stated: bigint,
    solve: Solve | null,
    reason: string,
    of: string,
  ): void {
    if (solve === null || !this.byStream(solve(wanted as never))) {
      this.settle(name, wanted, stated, solve, reason, of);
    } else if (this.strict) this.settle(name, wanted, stated, null, reason);
    else this.doubtful = true;
  }

  /** Has the field change from which `stated` follows, so that it is `wanted`. */
  settle(name: string, wanted: unknown, stated: unknown, solve: Solve | null, reason: string, of = ""): void {
    let ways = solve === null ? [] : this.ways(solve(wanted as never));
    if (ways.length > 1) {
      const blank = ways.filter((way) => way.some((each) => this.blank.has(each.of, each.name)));
      const others = this.changes.filter((each) => each.by !== name);
      const isTaken = (each: Done): boolean =>
        others.some((other) => other.of === each.of && other.name === each.name);
      const free = ways.filter((way) => !way.some(isTaken));
      ways = blank.length === 1 ? blank : free.length > 0 ? free : ways;
    }
    const facts = { path: name, need: stated, have: wanted };
    if (ways.length > 1) {
      const names = [...new Set(ways.flat().map((each) => `\`${each.name}\``))].sort().join(" and ");
      const text = `${reason}, and it follows from ${names}: leave one of them empty`;
      throw new FormatError("not_encodable", { ...facts, reason: text });
    }
    const way = ways[0]?.filter((each) => this.change(each, name)) ?? [];
    if (way.length === 0) {
      const hint = of === "" ? "" : `, and it cannot be computed: set ${of}`;
      throw new FormatError("not_encodable", { ...facts, reason: reason + hint });
    }
  }

  /** Sets a field; false where it has the value already. */
  private change({ of, name, value, index }: Done, by: string): boolean {
    const members = of as Members;
    const old = members[name];
    let now = numberLike(old, value);
    if (index !== undefined) {
      const items = [...(old as unknown[])];
      if (index < 0n || index > items.length) return false;
      items.splice(Number(index), 1, numberLike(items[0], value));
      now = items;
    }
    this.blank.delete(of, name);
    if (isSame(now, old)) return false;
    if (!this.journal.has(of, name)) this.journal.set(of, name, old);
    members[name] = now;
    this.changes.push({ of, name, text: textOf(value), by });
    return true;
  }

  /** Sees that the case of an object's class is chosen, if one case alone has it; else changes the field. */
  choose(
    name: string,
    value: unknown,
    on: unknown,
    cases: readonly (readonly [Class<StreamedObject>, unknown])[],
    solve: Solve | null,
  ): void {
    const wanted = cases.find(([kind]) => value instanceof kind);
    if (wanted === undefined) return;
    if (isSame(on, wanted[1])) this.satisfied(wanted[1], solve);
    else this.settle(name, wanted[1], on, solve, `a ${wanted[0].name} has another case`);
  }

  /** A size is what it has to be: what it follows from is computed, if it was not given. */
  satisfied(need: unknown, solve: Solve | null): void {
    if (this.blank.size === 0 || solve === null) return;
    const found = solve(need as never);
    if (this.byStream(found)) return;
    for (const { of, name } of this.ways(found).flat()) this.blank.delete(of, name);
  }

  /** Sets what an object is given. */
  give(of: object, name: string, value: unknown): void {
    const members = of as Members;
    if (members[name] === value) return;
    if (!this.journal.has(of, name)) this.journal.set(of, name, members[name]);
    members[name] = value;
  }

  /** Puts something into a field that was not given, until what it follows from is written. */
  fill(of: object, name: string, blank: unknown): void {
    if (this.journal.has(of, name)) return;
    this.journal.set(of, name, (of as Members)[name]);
    this.blank.set(of, name, true);
    this.hasFilled = true;
    let found = blank;
    if (Array.isArray(blank)) this.lists.add((found = []));
    (of as Members)[name] = this.numbered(found);
  }

  private numbered(blank: unknown): unknown {
    if (typeof blank === "number") return this.number;
    return typeof blank === "bigint" ? BigInt(this.number) : blank;
  }

  /** Puts another number where nothing is known yet. */
  private tryAnother(): boolean {
    if (this.number !== 0 || this.blank.size === 0) return false;
    this.number = 2;
    for (const [of, name] of this.blank.entries()) {
      const members = of as Members;
      members[name] = this.numbered(members[name]);
    }
    return true;
  }
}

/** Bytes that are written one after another, and those of instances at their positions. */
export class Sink {
  readonly owner: Sink;
  readonly base: number;
  readonly state: Settling;
  /** How many bytes the stream will have, if that is known. */
  limit: number | undefined;
  done: Uint8Array | undefined;
  readonly placed: Placed[] = [];
  private value: unknown;
  private readonly w = new Writer({}, 64);
  private isUsed = false;
  private held = 0n;
  private left = 0;
  private isLittle = false;
  /** What must follow: where, and whether also at the end. */
  private due: { at: number; mark: Uint8Array; isNeeded: boolean; name: string }[] = [];
  /** Where something ends that is read to the end of the stream. */
  private readonly open: { at: number; error: FormatError }[] = [];
  /** Bytes that no field names: from where, to where, and which bits of them. */
  private readonly unnamed: [number, number, number][] = [];

  constructor(state: Settling, limit?: number, owner?: Sink, base = 0) {
    this.state = state;
    this.limit = limit;
    this.owner = owner ?? this;
    this.base = base;
  }

  readonly origin = 0;
  /** The position of the next whole byte. */
  get at(): number {
    return this.base + this.w.pos + (this.left > 0 ? 1 : 0);
  }
  pos(): bigint {
    return BigInt(this.at);
  }
  /** All bytes of the stream, once they are there. */
  get bytes(): Uint8Array {
    if (this.owner.done !== undefined) return this.owner.done;
    throw new FormatError("malformed", { reason: "its bytes are needed before they are written" });
  }
  /** The size of the stream; until it is known, what it was in the pass before, or nothing. */
  size(): bigint {
    const { owner } = this;
    if (owner.done !== undefined) return BigInt(owner.done.length);
    owner.isUsed = true;
    if (owner.limit === undefined) {
      this.state.guesses++;
      owner.limit = 0;
    }
    return BigInt(owner.limit);
  }
  eof(): boolean {
    return this.pos() >= this.size() && this.left === 0;
  }

  /** Appends a number: `put` writes it. */
  number(put: (w: Writer) => void): void {
    put(this.w);
  }

  putBits(name: string, value: bigint, width: bigint, little: boolean): void {
    if (value < 0n || value >= 1n << width) throw notEncodable(name, "out of range", value);
    const size = Number(width);
    this.held = little ? this.held | (value << BigInt(this.left)) : (this.held << width) | value;
    this.left += size;
    this.isLittle = little;
    while (this.left >= 8) {
      this.left -= 8;
      const byte = little ? this.held & 0xffn : this.held >> BigInt(this.left);
      this.w.u1("", Number(byte));
      this.held = little ? this.held >> 8n : this.held & ((1n << BigInt(this.left)) - 1n);
    }
  }

  /** Ends a byte that was begun; its other bits are zeros, or what was there when it was read. */
  align(): void {
    if (this.left === 0) return;
    const others = this.isLittle ? (0xff << this.left) & 0xff : 0xff >> this.left;
    this.unnamed.push([this.at - 1, this.at, others]);
    this.w.u1("", Number(this.isLittle ? this.held : this.held << BigInt(8 - this.left)));
    this.held = 0n;
    this.left = 0;
  }

  // -- bytes ----------------------------------------------------------------------------------

  encoded(name: string, value: unknown, encoding: string, upper: string): Uint8Array {
    if (typeof value !== "string") throw notEncodable(name, isMissing(value) ? "not given" : "not text");
    const found = encode(name, value, encoding, upper);
    if (found === undefined) throw notEncodable(name, `not ${encoding}`, value);
    return found;
  }

  /** Bytes that are to be processed. */
  octets(name: string, value: unknown): Uint8Array {
    return bytesOf(name, value);
  }
  xor(_name: string, data: Uint8Array, key: bigint): Uint8Array {
    return data.map((each) => each ^ Number(key));
  }
  xorAll(_name: string, data: Uint8Array, key: Uint8Array): Uint8Array {
    return data.map((each, index) => each ^ (key[index % key.length] ?? 0));
  }
  rol(_name: string, data: Uint8Array, by: bigint): Uint8Array {
    const shift = Number(((-by % 8n) + 8n) % 8n);
    return data.map((each) => (each << shift) | (each >> (8 - shift)));
  }
  ror(name: string, data: Uint8Array, by: bigint): Uint8Array {
    return this.rol(name, data, -by);
  }
  /** The bytes to store: those that were read, if this is what was read of them. */
  zlib(_name: string, data: Uint8Array): Uint8Array {
    const stored = packed.get(data);
    // its bytes may have been changed since
    const made = stored !== undefined && same(inflateSync(stored), data) ? stored : deflateSync(data);
    return new Uint8Array(made.buffer, made.byteOffset, made.length);
  }

  putFixed(name: string, value: unknown, contents: Uint8Array): void {
    const data = bytesOf(name, value);
    if (!same(data, contents)) this.refuse(name, "wrong fixed bytes", contents, data);
    this.w.octets(data);
  }

  putBytes(name: string, value: unknown, size: bigint | null, solve: Solve | null, of: string): void {
    const data = bytesOf(name, value);
    if (size !== null) this.sized(name, data.length, size, solve, of);
    this.w.octets(data);
  }

  private sized(name: string, have: number, size: bigint, solve: Solve | null, of: string): void {
    if (BigInt(have) === size) this.state.satisfied(size, solve);
    else this.state.resize(name, BigInt(have), size, solve, "wrong size", of);
  }

  /** Bytes up to a terminator, which they do not hold but at their end. */
  putEnded(
    name: string,
    value: unknown,
    mark: Uint8Array,
    include: boolean,
    consume: boolean,
    needed: boolean,
  ): void {
    const data = bytesOf(name, value);
    const unit = mark.length;
    const found = indexOf(data, mark);
    const isWhole = include && found >= 0 && found === data.length - unit;
    if (found >= 0 && !isWhole) throw notEncodable(name, "holds its terminator");
    if (include && needed && !isWhole) throw notEncodable(name, "does not end with its terminator");
    this.w.octets(isWhole && !consume ? data.subarray(0, found) : data);
    if (isWhole && consume) return;
    const at = this.at;
    const { limit } = this.owner;
    const isFull = limit !== undefined && at >= limit;
    if (!include && consume && (needed || !isFull)) this.w.octets(mark);
    else if (isWhole || !consume) this.owner.due.push({ at, mark, isNeeded: needed || isWhole, name });
    else this.owner.due.push({ at, mark: new Uint8Array(), isNeeded: false, name });
  }

  /** Bytes with what fills them up to `size`; that changes where they need more. */
  putFilled(
    name: string,
    value: unknown,
    pad: bigint,
    mark: Uint8Array | null,
    include: boolean,
    stated: bigint | null,
    solve: Solve | null,
  ): void {
    let data = bytesOf(name, value);
    const own = data;
    const least = data.length + (mark === null || include ? 0 : mark.length);
    let size = stated;
    if (size === null && this.owner === this && this.limit !== undefined) {
      // it reaches to the end of a stream whose size is known
      if (this.limit - this.at >= data.length) size = BigInt(this.limit - this.at);
    }
    let room = Number(size ?? BigInt(least));
    if (room < data.length) {
      if (solve === null)
        throw new FormatError("not_encodable", { path: name, reason: "wrong size", have: data });
      this.state.resize(name, BigInt(least), BigInt(room), solve, "wrong size", "");
      room = least;
    } else this.state.satisfied(BigInt(room), solve);
    if (room > data.length + MOST_ZEROS) throw notEncodable(name, "wrong size", room);
    if (mark !== null && !include && room - data.length >= mark.length) data = joined(data, mark);
    if (mark !== null && indexOf(data, mark) >= 0) {
      // after its terminator anything may stand
      this.unnamed.push([this.at + data.length, this.at + room, 0xff]);
    }
    const full = new Uint8Array(room).fill(pad < 0n ? 0 : Number(pad));
    full.set(data);
    if (!same(trimmed(full, Number(pad), mark, include), own)) {
      throw notEncodable(name, "could not be told from what fills it up");
    }
    this.w.octets(full);
  }

  /** What was written last is read to the end of its stream: nothing can follow. */
  ends(name: string): void {
    this.open.push({ at: Number(this.pos()), error: notEncodable(name, "is read to the end of its stream") });
  }

  private closed(stop: number): void {
    for (const { at, error } of this.open) if (at !== stop) throw error;
  }

  // -- lists and conditions -------------------------------------------------------------------

  /** The elements of a list, with their numbers. */
  *items<T>(name: string, value: readonly T[] | null | undefined): Iterable<[T, bigint]> {
    let index = 0n;
    for (const each of listOf(name, value) as readonly T[]) yield [each, index++];
  }

  counted(name: string, value: unknown, count: bigint, solve: Solve | null, of: string): void {
    const items = listOf(name, value);
    const have = BigInt(items.length);
    if (have < count && this.state.lists.has(value) && count <= MOST_ZEROS) {
      // a list of numbers that are not known yet
      while (items.length < count) (items as unknown[]).push(0);
    } else if (have !== count && !this.state.lists.has(value)) {
      this.state.resize(name, have, count, solve, "wrong number of elements", of);
    } else this.state.satisfied(have, solve);
  }

  notEmpty(name: string, value: unknown): void {
    if (listOf(name, value).length === 0) {
      this.refuse(name, "at least one element is needed", null, value);
    }
  }

  last(name: string, value: unknown, holds: boolean, index: bigint, item: unknown): void {
    if (holds === (index + 1n === BigInt(listOf(name, value).length))) return;
    const reason = "the condition that ends it must hold at its last element, and only there";
    this.refuse(name, reason, null, item);
  }

  /** Whether a field that follows from others is written: then something stands in it. */
  follows(node: StreamedObject, name: string, isThere: boolean, blank: unknown): boolean {
    const value = (node as unknown as Members)[name];
    if (isThere && isMissing(value)) this.state.fill(node, name, blank);
    else if (!isThere && !isMissing(value)) this.state.give(node, name, null);
    return isThere;
  }

  /** Whether a field is written: its condition holds, or is made to hold as there is a value. */
  wanted(
    name: string,
    value: unknown,
    test: () => boolean,
    solve: Solve | null,
    sizes: Solve | null,
    mayLack: boolean,
  ): boolean {
    const isGiven = !isMissing(value);
    let holds = test();
    if (holds === isGiven || (holds && mayLack)) {
      if (solve !== null) this.state.satisfied(holds, solve);
      return holds;
    }
    if (solve !== null) {
      const reason = isGiven ? "given, but its condition does not hold" : "not given";
      this.state.settle(name, isGiven, holds, solve, reason);
    } else if (sizes !== null && !isGiven) {
      try {
        this.state.settle(name, 0n, null, sizes, "not given");
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
      }
    }
    holds = test();
    if (isGiven && !holds) {
      if (this.state.strict || sizes === null) {
        throw notEncodable(name, "given, but its condition does not hold", value);
      }
      // its size may make it hold
      this.state.doubtful = true;
      return true;
    }
    return holds;
  }

  choose(
    name: string,
    value: unknown,
    on: unknown,
    cases: readonly (readonly [Class<StreamedObject>, unknown])[],
    solve: Solve | null,
  ): void {
    this.state.choose(name, value, on, cases, solve);
  }

  /** That a rule does not allow a value, once all that rules ask for is known. */
  refuse(name: string, reason: string, need: unknown, have: unknown): void {
    const isOpen = this.state.guesses > 0 || this.state.blank.size > 0;
    if (isOpen && !this.state.strict && !isMissing(have)) {
      this.state.doubtful = true;
      return;
    }
    const facts = { path: name, reason: isMissing(have) ? "not given" : reason };
    throw new FormatError("not_encodable", need === null ? { ...facts, have } : { ...facts, need, have });
  }

  // -- objects --------------------------------------------------------------------------------

  /** A stream of `size` bytes within this one, to be given to `putPart`. */
  part(_name: string, value: unknown, size: bigint | null): Sink {
    const stated = size === null || size < 0n ? undefined : Number(size);
    const limit = this.state.sizes.get(value) ?? stated;
    return new Sink(this.state, limit ?? ownBytes(value)?.length);
  }

  putPart(
    name: string,
    part: Sink,
    value: unknown,
    size: bigint | null,
    solve: Solve | null,
    of: string,
  ): void {
    const data = this.whole(name, part, value, size, solve);
    if (size !== null) this.sized(name, data.length, size, solve, of);
    this.w.octets(data);
  }

  /** The bytes of a part. */
  whole(
    name: string,
    part: Sink,
    value: unknown,
    size: bigint | null = null,
    solve: Solve | null = null,
  ): Uint8Array {
    let data: Uint8Array;
    try {
      data = part.finish(value, size === null ? undefined : Number(size), solve !== null);
    } catch (error) {
      throw error instanceof FormatError ? error.within(name) : error;
    }
    part.closed(data.length);
    const bytes = sourceOf(value)?.bytes;
    // the same bytes as were read: `zlib` knows them
    return bytes !== undefined && same(bytes, data) ? bytes : data;
  }

  /** Writes an object of a class next in this stream; `given` are its parameters, `taught` what they follow from. */
  write(
    name: string,
    index: bigint,
    value: unknown,
    kind: Class<StreamedObject>,
    parent: StreamedObject | null,
    root: StreamedObject | null,
    given: Readonly<Record<string, unknown>>,
    taught: Readonly<Record<string, Solve>>,
  ): void {
    const { state } = this;
    const before = this.open.length;
    try {
      if (!(value instanceof kind)) {
        throw notEncodable("", isMissing(value) ? "not given" : `not a ${kind.name}`);
      }
      if (state.nodes.has(value)) throw notEncodable("", "an object holds itself");
      for (const [key, each] of Object.entries(given)) state.give(value, key, each);
      value._join(parent, root);
      value._taught = taught;
      state.enter(value, this);
      value._write(this);
      state.nodes.delete(value);
      state.finished.push(value);
      for (const each of this.open.slice(before)) within(each.error, name, index);
    } catch (error) {
      // V8 has no class of its own for a stack that is full
      if (error instanceof RangeError && error.message.includes("call stack")) {
        throw within(notEncodable("", "nested too deep"), name, index);
      }
      throw error instanceof FormatError ? within(error, name, index) : error;
    }
  }

  /** Sees that a parameter of what was written is what its field says now. */
  late(name: string, value: unknown, parameter: string, need: unknown): void {
    const have = (value as Members)[parameter];
    if (isSame(have, need)) return;
    throw new FormatError("not_encodable", {
      path: name,
      reason: `\`${parameter}\` depends on where the stream stands`,
      need,
      have,
    });
  }

  /** Has a field be what it is derived of. */
  derive(
    label: string,
    of: StreamedObject | null,
    name: string,
    have: unknown,
    value: unknown,
    isInstance: boolean,
  ): void {
    if (of !== null) this.state.derived(label, of, name, have, value, isInstance);
  }

  // -- instances ------------------------------------------------------------------------------

  /** Writes an instance at its position, if it was read or set, and is not elsewhere. */
  instance(node: StreamedObject, name: string): void {
    const at = node._placements().find((each) => each.name === name);
    if (at === undefined || !this.isWritten(node, at)) return;
    if (at.stream === null) this.place(node, at, this);
    else {
      this.state.later.push(() => {
        this.place(node, at, at.stream?.());
      });
    }
  }

  private isWritten(node: StreamedObject, at: Placement): boolean {
    const { value } = at.kept;
    if (isMissing(value)) return false;
    const { state } = this;
    const start = state.starts.get(value);
    if (start === undefined || state.own.has(value)) {
      if (typeof value === "object") state.own.add(value);
      return true;
    }
    if (at.solve !== null && start[0] === this.owner) {
      const now = at.position();
      if (now === BigInt(start[1])) state.satisfied(now, at.solve);
      else state.settle(at.label, BigInt(start[1]), now, at.solve, "its position");
    }
    return false;
  }

  private place(node: StreamedObject, at: Placement, stream: unknown): void {
    const { label, kept, solve } = at;
    if (!(stream instanceof Sink)) throw notEncodable("", "the stream of an instance is not being written");
    if (at.isKept && kept.source === undefined) {
      throw notEncodable(label, "its position depends on where the stream stood when it was read");
    }
    const pos = at.isKept ? (kept.start ?? 0) : Number(at.position());
    if (pos < 0) throw notEncodable(label, "negative position", pos);
    const io = new Sink(this.state, undefined, stream.owner, pos);
    at.write(io);
    io.align();
    const stop = io.at;
    io.closed(stop);
    const placed = new Placed(node, at, pos, io.w.finish(), io.unnamed);
    const { owner } = stream;
    if (kept.start !== undefined && placed.isBlank(this.state)) {
      // where it was read is as good as any other place
      if (kept.start !== pos) {
        this.state.settle(label, BigInt(kept.start), BigInt(pos), solve, "its position");
        return;
      }
      this.state.satisfied(BigInt(pos), solve);
    }
    if (owner.done === undefined) {
      owner.placed.push(placed);
      return;
    }
    fill(placed.data, pos, io.unnamed, owner.done);
    const stands = owner.done.subarray(pos, stop);
    if (same(stands, placed.data) && !placed.isShrunk(owner.done.length)) {
      owner.due.push(...io.due);
      owner.settleDue(owner.done);
      return;
    }
    // that stream is whole already: it is written again with this in it
    const others = this.state.inserted.get(owner.value) ?? [];
    const before = others.findIndex((each) => each.node === node && each.name === at.name);
    if (isMissing(owner.value) || (before >= 0 && same(others[before]?.data ?? stands, placed.data))) {
      throw notEncodable(label, "differs from what is written at its position", pos);
    }
    if (before >= 0) others.splice(before, 1);
    others.push(placed);
    this.state.inserted.set(owner.value, others);
    this.state.changes.push({ of: node, name: at.name, text: textOf(placed.data), by: label });
  }

  /** All bytes of this stream: what was written, instances at their positions, and what stood there before. */
  finish(value: unknown, size?: number, grows = false, keepsTail = true): Uint8Array {
    this.align();
    this.value = value;
    let out = this.w.finish();
    const written = out.length;
    const known = ownBytes(value, keepsTail);
    this.placed.push(...(this.state.inserted.get(value) ?? []));
    const source = sourceOf(value);
    if (known !== undefined && value instanceof StreamedObject && source !== undefined) {
      const before = value._stop - source.base;
      if (before === written) {
        if (size === undefined || known.length === size || grows) {
          fill(out, 0, this.unnamed, known);
          out = joined(out, known.subarray(written));
        }
      } else if (known.length > before && value._tailMoves() && this.placed.length === 0) {
        out = joined(out, known.subarray(before));
      } else if (known.length > before && this.state.isUnread(value)) {
        throw new FormatError("not_encodable", { reason: NO_PLACE, need: before, have: written });
      } else if (known.length > before && !this.isDescribed(value, before, known)) {
        if (written > before || !this.placed.some((each) => each.readStop > before)) {
          throw new FormatError("not_encodable", { reason: NO_PLACE, need: before, have: written });
        }
        // what stands at positions stays there, and so does what is between
        out = joined(joined(out, new Uint8Array(before - written)), known.subarray(before));
      }
    }
    if (this.placed.length > 0) out = this.putInstances(out, written, known, value, grows ? undefined : size);
    if (this.isUsed && this.limit !== undefined && out.length !== this.limit) {
      if (this.state.sizes.get(value) === out.length) {
        const reason = "the size of the stream, with which the schema computes, has changed";
        throw new FormatError("not_encodable", { reason, need: this.limit, have: out.length });
      }
      this.state.sizes.set(value, out.length);
      this.state.changes.push({ of: value as object, name: "", text: String(out.length), by: "its size" });
    }
    this.settleDue(out);
    this.done = out;
    return out;
  }

  /** Whether bytes after what was read in sequence are those of instances, or fill the room between them. */
  private isDescribed(value: StreamedObject, start: number, known: Uint8Array): boolean {
    const placed = this.placed
      .filter((each) => each.wasRead)
      .map((each): Range => [each.readStart, each.readStop]);
    const fills = new Set([0, ...this.placed.map((each) => each.fill)]);
    return isCovered(start, known, placed, fills) || isCovered(start, known, rangesOf(value, known), fills);
  }

  /** Leaves nothing of what was read where an instance has moved from, or has become smaller. */
  private clear(out: Uint8Array, written: number, value: unknown): void {
    for (const each of this.placed) {
      if (!each.wasRead || each.isBlank(this.state)) continue;
      if (!each.stays && value instanceof StreamedObject && this.state.isUnread(value)) {
        // others may stand there
        throw new FormatError("not_encodable", { reason: NO_PLACE, need: each.readStart, have: each.pos });
      }
      const start = Math.max(each.stays ? each.stop : each.readStart, written);
      const stop = Math.min(each.readStop, out.length);
      if (start < stop) out.fill(each.fill, start, stop);
    }
  }

  private settleDue(out: Uint8Array): void {
    for (const { at, mark, isNeeded, name } of this.due) {
      if (at >= out.length && !isNeeded) continue;
      if (mark.length === 0) throw notEncodable(name, "without terminator before the end");
      if (!same(out.subarray(at, at + mark.length), mark)) {
        throw notEncodable(name, "its terminator does not follow");
      }
    }
    this.due = [];
  }

  /** Puts instances at their positions; at the end where they have no room there any more. */
  private putInstances(
    start: Uint8Array,
    written: number,
    known: Uint8Array | undefined,
    value: unknown,
    size: number | undefined,
  ): Uint8Array {
    const { state } = this;
    let out = start;
    let sequence = written;
    const source = sourceOf(value);
    if (known !== undefined && value instanceof StreamedObject && source !== undefined) {
      sequence = value._stop - source.base;
    }
    for (const each of this.placed) each.compare(known, out);
    if (known !== undefined) this.clear(out, written, value);
    let end = Math.max(
      out.length,
      ...this.placed.filter((each) => !each.isBlank(state)).map((each) => each.stop),
    );
    const done: [number, number][] = [[0, written]];
    const order = [...this.placed].sort(
      (one, other) => Number(one.isSame) - Number(other.isSame) || other.weight - one.weight,
    );
    for (const each of order) {
      const { pos, data, label: name, solve } = each;
      const isBlank = each.isBlank(state);
      if (data.length === 0 && !isBlank) continue;
      const isOver = each.differs(out, done.slice(0, 1));
      const clashes = isOver || each.differs(out, done.slice(1));
      if (clashes && each.isSame && each.wasRead && !(isOver && each.readStart >= sequence)) {
        // it is a view, which nobody changed, of what is written here otherwise
        continue;
      }
      if (solve !== null && (clashes || isBlank || each.isGrown(out.length))) {
        // another one with the same position may have moved it
        if (each.isMoved(state)) continue;
        const step = each.step;
        const to = Math.ceil(end / step) * step;
        state.settle(name, BigInt(to), BigInt(pos), solve, "has no room at its position");
        end = to + data.length;
        continue;
      }
      if (clashes) throw notEncodable(name, each.fixed("differs from what is written at its position"), pos);
      if (each.isGrown(out.length)) {
        const reason = each.fixed("larger than what was read at its position, which is fixed");
        throw new FormatError("not_encodable", {
          path: name,
          reason,
          need: each.readStop - pos,
          have: data.length,
        });
      }
      state.satisfied(BigInt(pos), solve);
      if (each.stop - out.length > MOST_ZEROS) {
        throw notEncodable(name, "too far behind what is written", pos);
      }
      if (out.length < each.stop) {
        if (size !== undefined && each.stop > size) {
          const reason = "past the end of its stream";
          throw new FormatError("not_encodable", { path: name, reason, need: size, have: each.stop });
        }
        out = joined(out, new Uint8Array(Math.max(0, pos - out.length)).fill(each.fill));
        out = joined(out, new Uint8Array(each.stop - out.length));
      }
      out.set(data, pos);
      done.push([pos, each.stop]);
    }
    if (known !== undefined && this.placed.some((each) => each.isShrunk(known.length))) {
      out = out.slice(0, Math.max(written, ...this.placed.map((each) => each.stop)));
    }
    return out;
  }

  /** The bytes of an object: a zero in a field that is computed was not given, or else it was. */
  static written(value: StreamedObject, keepsTail: boolean): Uint8Array {
    const first = new Settling(false);
    try {
      return Sink.settled(value, keepsTail, first);
    } catch (error) {
      if (!(error instanceof FormatError) || !first.hasFilled) throw error;
      try {
        return Sink.settled(value, keepsTail, new Settling(true));
      } catch (other) {
        throw other instanceof FormatError ? error : other;
      }
    }
  }

  private static settled(value: StreamedObject, keepsTail: boolean, state: Settling): Uint8Array {
    const write = (): Uint8Array => {
      const known = ownBytes(value, keepsTail);
      const sink = new Sink(state, state.sizes.get(value) ?? known?.length);
      sink.write("", -1n, value, value.constructor as Class<StreamedObject>, value._parent, null, {}, {});
      // instances in other streams, which are there now
      for (const each of state.later) each();
      const data = sink.finish(value, undefined, false, keepsTail);
      sink.closed(data.length);
      return data;
    };
    try {
      return state.run(write);
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) {
        // of an expression
        throw notEncodable("", `a value is missing, or of another type: ${error.message}`);
      }
      if (!(error instanceof FormatError) || error.code === "not_encodable") throw error;
      const reason = `cannot be computed: ${error.message}`;
      throw new FormatError("not_encodable", { path: error.path, reason });
    } finally {
      state.restore();
    }
  }
}

/** An instance with its position, and that at which it was read. */
class Placed {
  readonly node: StreamedObject;
  readonly pos: number;
  readonly data: Uint8Array;
  readonly name: string;
  readonly label: string;
  readonly solve: Solve | null;
  isSame = false;
  private readonly unnamed: [number, number, number][];
  private readonly kept: Kept<unknown>;
  private readonly of: string;
  readonly fill: number;
  private readonly align: number;

  constructor(
    node: StreamedObject,
    at: Placement,
    pos: number,
    data: Uint8Array,
    unnamed: [number, number, number][],
  ) {
    this.node = node;
    this.pos = pos;
    this.data = data;
    this.unnamed = unnamed;
    this.name = at.name;
    this.label = at.label;
    this.solve = at.solve;
    this.kept = at.kept;
    this.of = at.of;
    this.align = at.align;
    this.fill = at.fill;
  }

  /** What its position is a multiple of where that is chosen. */
  get step(): number {
    if (this.align > 0) return this.align;
    return this.wasRead ? alignment(this.pos) : 4;
  }
  /** The largest are placed first; those with `-align` stay in the order of their table. */
  get weight(): number {
    return this.align > 0 ? 0 : this.data.length;
  }
  /** Whether it is where it was read. */
  get stays(): boolean {
    return this.wasRead && this.readStart === this.pos;
  }
  fixed(reason: string): string {
    return this.of === "" ? reason : `${reason}: set ${this.of}`;
  }
  get stop(): number {
    return this.pos + this.data.length;
  }
  get wasRead(): boolean {
    return this.kept.source !== undefined;
  }
  get readStart(): number {
    return this.kept.start ?? 0;
  }
  get readStop(): number {
    const { source } = this.kept;
    return source === undefined ? 0 : source.at - source.base;
  }

  /** Fills what no field names, and sees whether it is the same as what was read. */
  compare(known: Uint8Array | undefined, out: Uint8Array): void {
    const was =
      known === undefined || !this.wasRead ? undefined : known.subarray(this.readStart, this.readStop);
    if (was?.length === this.data.length) {
      const moved = this.unnamed.map(([start, stop, others]): [number, number, number] => {
        return [start - this.pos, stop - this.pos, others];
      });
      fill(this.data, 0, moved, was);
    } else fill(this.data, this.pos, this.unnamed, out);
    this.isSame = was !== undefined && same(this.data, was);
  }

  /** Whether other bytes are written in its place already. */
  differs(out: Uint8Array, ranges: readonly [number, number][]): boolean {
    return ranges.some(([start, end]) => {
      const [low, high] = [Math.max(start, this.pos), Math.min(end, this.stop)];
      return (
        low < high && !same(out.subarray(low, high), this.data.subarray(low - this.pos, high - this.pos))
      );
    });
  }

  /** Whether it reached to the end of its stream, of `size` bytes, and does not any more. */
  isShrunk(size: number): boolean {
    return this.wasRead && this.readStart === this.pos && this.stop < this.readStop && this.readStop === size;
  }
  /** Whether it is longer than what was read at its position, with something behind it. */
  isGrown(size: number): boolean {
    const isHere = this.wasRead && this.readStart === this.pos;
    return isHere && this.readStop < this.stop && this.readStop < size;
  }
  /** Whether its position was changed in this pass. */
  isMoved(state: Settling): boolean {
    const ways = this.solve === null ? [] : state.ways(this.solve(BigInt(this.pos) as never));
    return ways
      .flat()
      .some((each) => state.changes.some(({ of, name }) => of === each.of && name === each.name));
  }
  /** Whether nobody said where it is. */
  isBlank(state: Settling): boolean {
    if (state.blank.size === 0 || this.solve === null) return false;
    const ways = state.ways(this.solve(BigInt(this.pos) as never));
    return ways.flat().some((each) => state.blank.has(each.of, each.name));
  }
}

/** Appends an object, and what it is made of, to a writer. Throws `not_encodable`. */
export function append(w: Writer, value: StreamedObject, keepsTail: boolean): void {
  w.octets(Sink.written(value, keepsTail));
}

const AROUND: ReadonlySet<string> = new Set([
  "_parent",
  "_root",
  "_io",
  "_out",
  "_taught",
  "_spans",
  "source",
]);
type Range = readonly [start: number, stop: number];

/** Reads every instance in an object, so that it is written; gives all that were read. */
function touch(value: StreamedObject): Kept<unknown>[] {
  const seen = new Set<unknown>();
  const found: Kept<unknown>[] = [];
  const todo: unknown[] = [value];
  while (todo.length > 0) {
    const at = todo.pop();
    if (typeof at !== "object" || at === null || at instanceof Uint8Array || seen.has(at)) continue;
    seen.add(at);
    if (at instanceof StreamedObject) {
      for (const { name, kept } of at._placements()) {
        try {
          Reflect.get(at, name);
        } catch (error) {
          if (!(error instanceof FormatError)) throw error;
        }
        if (!isMissing(kept.value)) found.push(kept);
      }
    }
    for (const [key, each] of Object.entries(at)) if (!AROUND.has(key)) todo.push(each);
  }
  return found;
}

/** Where instances stand in the bytes that an object was read from, whatever became of it since. */
function rangesOf(value: StreamedObject, known: Uint8Array): Range[] {
  if (value._parent !== null) return [];
  const r = new Reader(known, sourceOf(value)?.reading.options);
  try {
    const kept = touch(value._again(Source.of(r)));
    return kept.flatMap(({ start, source }): Range[] => {
      return source?.bytes === r.bytes && source.base === 0 ? [[start ?? 0, source.at]] : [];
    });
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return [];
  }
}

/** Whether ranges cover all bytes from `start` on but those that fill the room between. */
function isCovered(
  start: number,
  known: Uint8Array,
  ranges: readonly Range[],
  fills: ReadonlySet<number>,
): boolean {
  const behind = ranges.filter((each) => each[1] > start).sort((one, other) => one[0] - other[0]);
  let at = start;
  for (const [first, stop] of behind) {
    if (known.subarray(at, first).some((each) => !fills.has(each))) return false;
    at = Math.max(at, stop);
  }
  return behind.length > 0 && known.subarray(at).every((each) => fills.has(each));
}

/** Puts the error of an expression before that of its object. */
function within(error: FormatError, name: string, index: bigint): FormatError {
  return index < 0n ? error.within(name) : error.within(name, Number(index));
}

function isList(way: Change | readonly Way[]): way is readonly Way[] {
  return Array.isArray(way);
}
function isMissing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}
/** Whether a value stands for none: nothing, or in a new object what a field is at first. */
function isBlank(value: unknown, isNew: boolean): boolean {
  if (isMissing(value) || !isNew) return isMissing(value);
  return value === 0 || value === 0n || value === "" || value === false;
}
function isAlike(one: readonly Done[], other: readonly Done[]): boolean {
  return (
    one.length === other.length &&
    one.every((each, index) => {
      const like = other[index];
      return each.of === like?.of && each.name === like.name && each.index === like.index;
    })
  );
}
function isSame(one: unknown, other: unknown): boolean {
  if (one instanceof Uint8Array && other instanceof Uint8Array) return same(one, other);
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, index) => isSame(each, other[index]));
  }
  if (isChange(one) && isChange(other)) {
    return one.of === other.of && one.name === other.name && one.text === other.text && one.by === other.by;
  }
  return one === other || (isNumber(one) && isNumber(other) && BigInt(one) === BigInt(other));
}
/** A whole number in the type of another value, if that is a number. */
function numberLike(like: unknown, value: unknown): unknown {
  return typeof like === "number" && typeof value === "bigint" ? Number(value) : value;
}
function isNumber(value: unknown): value is number | bigint {
  return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
}
function isChange(value: unknown): value is Changed {
  return typeof value === "object" && value !== null && "by" in value && "text" in value;
}
function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Array.from(value).join();
  return Array.isArray(value) ? value.map(textOf).join() : String(value);
}
function labelOf(of: object, name: string): string {
  return `${of.constructor.name}.${name}`;
}
function bytesOf(name: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw notEncodable(name, isMissing(value) ? "not given" : "not bytes", value);
}
function listOf(name: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw notEncodable(name, isMissing(value) ? "not given" : "not a list", value);
}
function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const found = new Uint8Array(one.length + other.length);
  found.set(one);
  found.set(other, one.length);
  return found;
}
function indexOf(data: Uint8Array, mark: Uint8Array): number {
  const unit = mark.length;
  for (let at = 0; unit > 0 && at + unit <= data.length; at += unit) {
    if (same(data.subarray(at, at + unit), mark)) return at;
  }
  return -1;
}
function trimmed(data: Uint8Array, pad: number, mark: Uint8Array | null, include: boolean): Uint8Array {
  let size = data.length;
  const last = mark?.[mark.length - 1];
  while (size > 0 && data[size - 1] === pad && last !== pad) size--;
  const found = mark === null ? -1 : indexOf(data.subarray(0, size), mark);
  return data.subarray(0, found < 0 ? size : found + (include ? (mark?.length ?? 0) : 0));
}
/** The largest power of two, up to 16, that a position is a multiple of. */
function alignment(pos: number): number {
  return pos === 0 ? 16 : Math.min(pos & -pos, 16);
}
/** What an object was read from. */
function sourceOf(value: unknown): Source | undefined {
  return value instanceof StreamedObject ? value._source() : undefined;
}
/** The bytes of the stream that an object was read from, where it stands at its start. */
function ownBytes(value: unknown, keepsTail = true): Uint8Array | undefined {
  const source = sourceOf(value);
  if (!(value instanceof StreamedObject) || source === undefined || value._start !== source.base)
    return undefined;
  return source.bytes.subarray(source.base, keepsTail ? source.end : value._stop);
}
/** What no field names is what it is in `there`, in the bytes that `data` is for from `base` on. */
function fill(
  data: Uint8Array,
  base: number,
  unnamed: readonly (readonly [number, number, number])[],
  there: Uint8Array,
): void {
  for (const [start, stop, others] of unnamed) {
    if (stop > there.length) continue;
    if (others === 0xff) data.set(there.subarray(start, stop), start - base);
    else data[start - base] = (data[start - base] ?? 0) | ((there[start] ?? 0) & others);
  }
}
