meta:
  id: x
  endian: be
seq:
- {id: x, type: u1}
- {id: y, size: 4, type: {switch-on: x, cases: {_io.pos: p, 5: q}}}
types:
  p: {seq: [{id: a, type: u1}]}
  q: {seq: [{id: b, type: u2}]}
