meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, contents: [1, 2], if: n > 0}
- {id: b, contents: x, repeat: expr, repeat-expr: 2}
