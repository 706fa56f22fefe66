meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, size: b}
instances:
  b: {pos: n, type: u1}
