meta:
  id: x
  endian: be
seq:
- {id: n, type: s1}
- {id: a, size: b}
instances:
  b: {pos: n, type: u1}
