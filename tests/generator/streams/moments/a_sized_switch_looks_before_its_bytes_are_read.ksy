meta:
  id: x
  endian: be
seq:
- {id: x, type: u1}
- {id: y, size: 4, type: {switch-on: n, cases: {1: p, 2: q}}}
instances: {n: {pos: _io.pos + 1, type: u1}}
types:
  p: {seq: [{id: a, type: u1}]}
  q: {seq: [{id: b, type: u2}]}
