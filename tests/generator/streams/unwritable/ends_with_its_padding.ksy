meta:
  id: x
  endian: be
seq:
- {id: b, size: 4, pad-right: 0}
