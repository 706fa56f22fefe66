meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, size: b.c.n}
instances:
  b: {pos: 0, type: p}
types:
  p: {seq: [{id: n, type: u1}], instances: {c: {pos: 0, type: p, if: c.n > 0}}}
