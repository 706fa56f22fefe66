meta:
  id: x
  endian: be
seq:
- {id: b, size: 2, pad-right: 0}
