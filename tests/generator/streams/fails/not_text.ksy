meta:
  id: x
  endian: be
seq:
- {id: a, type: strz, encoding: SHIFT_JIS}
