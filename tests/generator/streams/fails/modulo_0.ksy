meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, size: 4 % n}
