meta:
  id: x
  endian: be
seq:
- {id: b, type: u8}
instances:
  c: {pos: b, type: u1}
