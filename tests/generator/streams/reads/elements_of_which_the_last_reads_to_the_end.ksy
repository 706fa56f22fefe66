meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, type: p, repeat: expr, repeat-expr: n}
types:
  p: {seq: [{id: h, type: u1}, {id: b, size-eos: true, if: h == 0}]}
