meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: b, terminator: 0, repeat: expr, repeat-expr: n % 4}
