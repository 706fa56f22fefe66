meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: m, type: {switch-on: n, cases: {1: u1, 2: u2}}, repeat: expr, repeat-expr: 2}
- {id: a, size: m.last + 1}
