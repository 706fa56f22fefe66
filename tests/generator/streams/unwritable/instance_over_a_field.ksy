meta:
  id: x
  endian: be
seq:
- {id: b, type: u2}
instances:
  c: {pos: 1, type: u1}
