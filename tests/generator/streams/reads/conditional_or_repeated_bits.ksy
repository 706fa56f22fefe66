meta:
  id: x
  endian: be
seq:
- {id: n, type: b4}
- {id: a, type: b2, if: n == 1}
- {id: b, type: b1, repeat: expr, repeat-expr: 5}
- {id: c, type: u1}
