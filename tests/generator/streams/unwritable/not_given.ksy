meta:
  id: x
  endian: be
seq:
- {id: a, type: u2}
- {id: b, terminator: 0}
