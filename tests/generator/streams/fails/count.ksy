meta:
  id: x
  endian: be
seq:
- {id: n, type: u4}
- {id: a, type: p, repeat: expr, repeat-expr: n}
types:
  p: {seq: [{id: z, terminator: 0, if: _root.n == 0}]}
