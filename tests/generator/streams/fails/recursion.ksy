meta:
  id: x
  endian: be
seq:
- {id: a, type: p}
types:
  p: {seq: [{id: n, type: u1}, {id: q, type: p, if: n > 0}]}
