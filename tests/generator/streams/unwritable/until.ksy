meta:
  id: x
  endian: be
seq:
- {id: b, type: u1, repeat: until, repeat-until: _ == 0}
