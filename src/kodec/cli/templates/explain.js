"use strict";
// Draws the bytes and the tree of fields of one page. Only the rows in sight exist; text is only ever set as text.
const HEIGHT = 20, SPARE = 10;
const data = JSON.parse(document.getElementById("data").textContent);
const [bytesBox, treeBox, detail, search, hits] = ["bytes", "tree", "detail", "search", "hits"]
  .map(id => document.getElementById(id));
const number = value => value.toLocaleString("en-US");
const hex = (value, digits) => value.toString(16).padStart(digits, "0");

function element(name, kind, ...content) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.append(...content);
  return made;
}

// -- the model: areas of bytes, and a tree of nodes over them ----------------------------------------

class Node {
  constructor(parent, name, area) {
    Object.assign(this, {parent, name, area, kids: [], named: new Map(), value: "", doc: "", colour: -1, open: false});
    Object.assign(this, {level: parent ? parent.level + 1 : 1, start: Infinity, end: -Infinity, bad: false});
    if (parent) { this.index = parent.kids.length; parent.kids.push(this); }
  }
  child(name) {
    if (!this.named.has(name)) this.named.set(name, new Node(this, name, this.area));
    return this.named.get(name);
  }
  cover(start, end) {
    for (let node = this; node; node = node.parent) {
      node.start = Math.min(node.start, start);
      node.end = Math.max(node.end, end);
    }
  }
  get path() {
    const names = [];
    for (let node = this; node.parent; node = node.parent) names.unshift(node.name);
    return names.reduce((path, name) => path + (path && !name.startsWith("[") ? "." : "") + name, "") || this.name;
  }
}

let indexes = [];
function addField(area, [name, given, value], start, end, note) {
  const [path, unit, colour, doc] = data.names[name];
  // 0: those of the field before
  indexes = given || indexes;
  let node = area.node, used = 0;
  for (const step of path.split(/\.|(?=\[)/)) node = node.child(step === "[]" ? `[${indexes[used++]}]` : step);
  // a field that goes on from the page before, or that another has already described
  if (node.value) node = new Node(node.parent, node.name, area);
  Object.assign(node, {value: note || (unit ? `${value} ${unit}` : value), colour, doc});
  node.cover(start, end);
  return node;
}

const areas = data.areas.map((given, index) => {
  const area = {...given, index, bytes: Uint8Array.from(atob(given.data), each => each.charCodeAt(0)), starts: [], nodes: [],
    colours: []};
  area.node = new Node(null, area.title, area);
  let at = 0;
  for (const [size, note, ...fields] of area.parts) {
    const end = at + size, made = [];
    for (let each = 0; each < fields.length; each += 3)
      made.push(addField(area, fields.slice(each, each + 3), at, end, note));
    if (!made.length) {
      const node = new Node(area.node, `(${note})`, area);
      node.cover(at, end);
      made.push(node);
    }
    if (size) {
      area.starts.push(at);
      area.nodes.push(made[0]);
    }
    at = end;
  }
  for (const [start, size, ...field] of area.others) addField(area, field, start, start + size, "");
  if (area.error) Object.assign(new Node(area.node, area.error, area), {bad: true}).cover(at, at);
  area.node.cover(0, area.bytes.length);
  return area;
});
const all = [];
(function collect(nodes) { for (const node of nodes) { node.order = all.push(node) - 1; collect(node.kids); } })(areas.map(area => area.node));
for (const node of all) node.open = node.level === 1 ? areas.length < 6 || node.area === areas[0] : node.level < 4 && node.kids.length < 9;

function nodeAt(area, at) {
  let low = 0, high = area.starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (area.starts[middle] <= at) low = middle + 1; else high = middle;
  }
  return low ? area.nodes[low - 1] : area.node;
}

// -- lists of which only the rows in sight are drawn -------------------------------------------------

class List {
  constructor(box, row) {
    Object.assign(this, {box, row, rowCount: 0, room: element("div", "room"), rows: element("div", "rows")});
    this.room.setAttribute("role", "none");
    this.rows.setAttribute("role", "none");
    this.room.append(this.rows);
    box.append(this.room);
    box.addEventListener("scroll", () => this.draw());
  }
  get count() { return this.rowCount; }
  set count(count) {
    this.rowCount = count;
    this.room.style.height = `${count * HEIGHT}px`;
  }
  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / HEIGHT) - SPARE);
    const last = Math.min(this.count, first + Math.ceil(this.box.clientHeight / HEIGHT) + 2 * SPARE);
    this.rows.style.transform = `translateY(${first * HEIGHT}px)`;
    this.rows.replaceChildren(...Array.from({length: Math.max(0, last - first)}, (_, each) => this.row(first + each)));
  }
  show(index) {
    const top = index * HEIGHT, sight = this.box.clientHeight - HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = Math.max(0, top - HEIGHT);
    else if (top > this.box.scrollTop + sight) this.box.scrollTop = top - sight + HEIGHT;
  }
  get inSight() { return Math.max(1, Math.floor(this.box.clientHeight / HEIGHT) - 1); }
}

// `lit` is what the pointer is on, `chosen` what a click or a key has chosen, `here` the byte of the keyboard
let lit = null, chosen = areas[0].node, here = {area: areas[0], at: 0}, visible = [], width = 16;

const place = (area, at) => area.at + at;
const rowsOf = area => area.bytes.length ? Math.floor(place(area, area.bytes.length - 1) / width) - Math.floor(area.at / width) + 1 : 0;

function layOut() {
  const probe = element("span", "", "0".repeat(64));
  bytesBox.append(probe);
  const fits = (bytesBox.clientWidth - 18) / (probe.getBoundingClientRect().width / 64);
  probe.remove();
  width = fits >= 76 ? 16 : fits >= 43 ? 8 : 4;
  let row = 0;
  for (const area of areas) {
    area.row = row;
    row += 1 + rowsOf(area);
  }
  hexes.count = row;
}

function areaOfRow(row) {
  let low = 0, high = areas.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (areas[middle].row <= row) low = middle + 1; else high = middle;
  }
  return areas[low - 1];
}

function hexRow(index) {
  const area = areaOfRow(index);
  if (index === area.row) return element("div", "row head", area.title);
  const base = (Math.floor(area.at / width) + index - area.row - 1) * width;
  const first = Math.max(0, base - area.at), end = Math.min(area.bytes.length, base + width - area.at);
  const made = element("div", "row", element("span", "place", hex(base, 8)), "  ");
  const blank = first + area.at - base, text = [" ".repeat(blank)];
  made.append("   ".repeat(blank));
  // all bytes of an area would hide the colours
  const mark = lit || (chosen.parent ? chosen : {});
  for (let at = first; at < end;) {
    const node = nodeAt(area, at);
    const on = byte => mark.area === area && mark.start <= byte && byte < mark.end;
    const own = byte => here.area === area && here.at === byte;
    let stop = at + 1;
    while (stop < end && !own(at) && !own(stop) && nodeAt(area, stop) === node && on(stop) === on(at)) stop++;
    const part = Array.from(area.bytes.subarray(at, stop));
    const kind = `${on(at) ? "on" : node.colour < 0 ? "" : `c${node.colour}`}${own(at) ? " here" : ""}`;
    const inHex = element("span", kind, part.map(each => hex(each, 2)).join(" "));
    const inText = element("span", kind, part.map(each => each > 31 && each < 127 ? String.fromCharCode(each) : ".").join(""));
    Object.assign(inHex.dataset, {at, cell: 3});
    Object.assign(inText.dataset, {at, cell: 1});
    made.append(inHex, " ");
    text.push(inText);
    at = stop;
  }
  made.append(" ".repeat(3 * (base + width - area.at - end) + 1), ...text);
  made.dataset.area = area.index;
  return made;
}

function treeRow(index) {
  const node = visible[index], shownAs = nearest(lit);
  const made = element("div", "row", "  ".repeat(node.level - 1),
    element("span", "fold", node.kids.length ? (node.open ? "▾" : "▸") : ""),
    node.parent ? element("span", `mark${node.colour < 0 ? "" : ` c${node.colour}`}`) : "",
    element("span", node.bad ? "bad" : "", node.name));
  if (node.value) made.append("  ", element("span", "value", node.value));
  if (!node.bad) made.append("  ", element("span", "place", `${hex(place(node.area, node.start), 8)} +${number(node.end - node.start)}`));
  if (node === shownAs) made.classList.add("on");
  if (node === chosen) made.classList.add("chosen");
  made.id = `node${index}`;
  made.dataset.index = index;
  made.setAttribute("role", "treeitem");
  made.setAttribute("aria-level", node.level);
  made.setAttribute("aria-posinset", node.parent ? node.index + 1 : node.area.index + 1);
  made.setAttribute("aria-setsize", node.parent ? node.parent.kids.length : areas.length);
  made.setAttribute("aria-selected", node === chosen);
  if (node.kids.length) made.setAttribute("aria-expanded", node.open);
  return made;
}

const hexes = new List(bytesBox, hexRow), tree = new List(treeBox, treeRow);

function fold() {
  visible = [];
  (function add(nodes) {
    for (const node of nodes) {
      node.at = visible.push(node) - 1;
      if (node.open) add(node.kids);
    }
  })(areas.map(area => area.node));
  tree.count = visible.length;
}

// the node itself, or what it is folded into
function nearest(node) {
  let found = node;
  for (let each = node && node.parent; each; each = each.parent) if (!each.open) found = each;
  return found;
}

function describe(node) {
  if (node.bad) return detail.replaceChildren(element("p", "wrong", node.name));
  const {area, start, end} = node, from = place(area, start), size = end - start;
  const line = element("p", "", element("code", "", element("b", "", node.path), node.value ? ` = ${node.value}` : ""));
  const last = size > 1 ? ` to 0x${hex(from + size - 1, 1)}` : "";
  const count = `${number(size)} ${size === 1 ? "byte" : "bytes"}`;
  const where = area.path ? ` inside ${area.path}` : "";
  detail.replaceChildren(line, element("p", "", element("span", "number", `at ${number(from)} (0x${hex(from, 1)}${last})`), ", ",
    element("span", "number", count), where, node.doc ? ` · ${node.doc}` : ""));
}

function draw() {
  hexes.draw();
  tree.draw();
  const row = document.getElementById(`node${chosen.at}`);
  if (row) treeBox.setAttribute("aria-activedescendant", row.id);
  else treeBox.removeAttribute("aria-activedescendant");
}

const rowOfByte = (area, at) => area.row + 1 + Math.floor(place(area, at) / width) - Math.floor(area.at / width);

function point(node, from) {
  if (node === lit) return;
  lit = node;
  describe(node || chosen);
  if (node && from === treeBox) hexes.show(rowOfByte(node.area, Math.min(node.start, node.area.bytes.length - 1)));
  if (node && from === bytesBox) tree.show(nearest(node).at);
  draw();
}

function choose(node, byte = null) {
  for (let each = node.parent; each; each = each.parent) each.open = true;
  [lit, chosen] = [null, node];
  here = {area: node.area, at: byte ?? Math.max(0, Math.min(node.start, node.area.bytes.length - 1))};
  fold();
  tree.show(node.at);
  hexes.show(rowOfByte(here.area, here.at));
  describe(node);
  draw();
}

function setOpen(node, open) {
  node.open = open;
  fold();
  tree.show(node.at);
  draw();
}

// -- the pointer ---------------------------------------------------------------------------------------

function pointed(event) {
  const row = event.target.closest(".row");
  if (!row) return [null, null];
  if (row.dataset.index !== undefined) return [visible[row.dataset.index], null];
  const run = event.target.closest("[data-at]");
  if (!run) return [null, null];
  const area = areas[row.dataset.area], box = run.getBoundingClientRect();
  const cell = Math.floor((event.clientX - box.left) / box.width * run.textContent.length / run.dataset.cell);
  const byte = Math.max(0, Math.min(area.bytes.length - 1, +run.dataset.at + cell));
  return [nodeAt(area, byte), byte];
}

for (const box of [bytesBox, treeBox]) {
  box.addEventListener("mouseover", event => point(pointed(event)[0], box));
  box.addEventListener("mouseleave", () => point(null, box));
  box.addEventListener("click", event => {
    const [node, byte] = pointed(event);
    if (!node) return;
    if (event.target.closest(".fold") && node.kids.length) node.open = !node.open;
    choose(node, byte);
  });
}
treeBox.addEventListener("dblclick", event => {
  const [node] = pointed(event);
  if (node && node.kids.length) setOpen(node, !node.open);
});

// -- the keyboard --------------------------------------------------------------------------------------

const treeKeys = {
  ArrowDown: () => visible[chosen.at + 1],
  ArrowUp: () => visible[chosen.at - 1],
  PageDown: () => visible[Math.min(visible.length - 1, chosen.at + tree.inSight)],
  PageUp: () => visible[Math.max(0, chosen.at - tree.inSight)],
  Home: () => visible[0],
  End: () => visible[visible.length - 1],
  ArrowRight: () => chosen.kids.length && !chosen.open ? setOpen(chosen, true) : chosen.kids[0],
  ArrowLeft: () => chosen.open && chosen.kids.length ? setOpen(chosen, false) : chosen.parent,
  Enter: () => chosen.kids.length ? setOpen(chosen, !chosen.open) : bytesBox.focus(),
  " ": () => treeKeys.Enter(),
};
const step = {
  ArrowRight: () => 1, ArrowLeft: () => -1, ArrowDown: () => width, ArrowUp: () => -width,
  PageDown: () => width * hexes.inSight, PageUp: () => -width * hexes.inSight,
  Home: () => -(place(here.area, here.at) % width), End: () => width - 1 - place(here.area, here.at) % width,
};

function move(by) {
  let {area, at} = here;
  at += by;
  while (at >= area.bytes.length && areas[area.index + 1]) {
    at -= area.bytes.length;
    area = areas[area.index + 1];
  }
  while (at < 0 && area.index) {
    area = areas[area.index - 1];
    at += area.bytes.length;
  }
  at = Math.max(0, Math.min(at, area.bytes.length - 1));
  choose(nodeAt(area, at), at);
}

treeBox.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !treeKeys[event.key]) return;
  event.preventDefault();
  const next = treeKeys[event.key]();
  if (next) choose(next);
});
bytesBox.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter") treeBox.focus();
  else if (step[event.key]) move(step[event.key]());
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", event => {
  if (event.key === "/" && event.target !== search) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});

// -- search, folding, size -----------------------------------------------------------------------------

let sought = "", found = [];
function seek(back) {
  const text = search.value.trim().toLowerCase();
  if (text !== sought) {
    sought = text;
    found = text ? all.filter(node => `${node.path} = ${node.value}`.toLowerCase().includes(text)) : [];
  }
  if (!found.length) {
    hits.value = text ? "not on this page" : "";
    return;
  }
  const after = back ? found.findLast(node => node.order < chosen.order) : found.find(node => node.order > chosen.order);
  const next = after || (back ? found[found.length - 1] : found[0]);
  hits.value = `${found.indexOf(next) + 1} of ${number(found.length)}`;
  choose(next);
}
search.form.addEventListener("submit", event => event.preventDefault());
search.addEventListener("keydown", event => {
  if (event.key === "Enter") {
    event.preventDefault();
    seek(event.shiftKey);
  } else if (event.key === "Escape") treeBox.focus();
});
for (const [id, open] of [["fold", false], ["unfold", true]]) document.getElementById(id).addEventListener("click", () => {
  for (const node of all) node.open = open;
  choose(nearest(chosen));
});
new ResizeObserver(() => {
  layOut();
  draw();
}).observe(bytesBox);
layOut();
fold();
describe(chosen);
draw();
