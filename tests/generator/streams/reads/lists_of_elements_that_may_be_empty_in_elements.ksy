meta:
  id: x
  endian: be
seq:
- {id: a, type: p, repeat: eos}
types:
  p: {seq: [{id: n, type: u1}, {id: b, size: n, repeat: expr, repeat-expr: n}]}
