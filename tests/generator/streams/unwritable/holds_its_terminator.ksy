meta:
  id: x
  endian: be
seq:
- {id: b, terminator: 0}
