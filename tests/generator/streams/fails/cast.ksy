meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: m, type: {switch-on: n, cases: {1: p, 2: q}}}
- {id: a, size: m.as<p>.b}
types:
  p: {seq: [{id: b, type: u1}]}
  q: {seq: [{id: b, type: u1}]}
