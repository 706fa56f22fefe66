meta:
  id: x
  endian: be
seq:
- {id: a, size: 4, type: p}
- {id: b, type: u1}
instances:
  c: {io: a._io, pos: 1, type: u2}
types:
  p: {seq: [{id: q, type: u1}]}
