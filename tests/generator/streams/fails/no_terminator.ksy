meta:
  id: x
  endian: be
seq:
- {id: a, terminator: 0}
