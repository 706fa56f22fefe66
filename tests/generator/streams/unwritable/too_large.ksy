meta:
  id: x
  endian: be
seq:
- {id: a, type: u1}
- {id: b, terminator: 0}
