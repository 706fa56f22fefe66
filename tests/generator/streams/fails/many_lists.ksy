meta:
  id: x
  endian: be
seq:
- {id: a, type: p, repeat: eos}
types:
  p: {seq: [{id: n, type: u4}, {id: b, type: q, repeat: expr, repeat-expr: n}]}
  q: {seq: []}
