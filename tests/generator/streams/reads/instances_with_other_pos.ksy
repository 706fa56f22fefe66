meta:
  id: x
  endian: be
seq:
- {id: ofs, type: u1}
- {id: n, type: u1}
instances:
  a: {pos: ofs, type: u2, repeat: expr, repeat-expr: n}
  b: {pos: ofs - 1, type: p}
types:
  p: {seq: [{id: q, type: u1}]}
