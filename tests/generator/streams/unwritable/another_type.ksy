meta:
  id: x
  endian: be
seq:
- {id: b, type: p}
- {id: c, terminator: 0}
types:
  p: {seq: [{id: n, type: u1}]}
