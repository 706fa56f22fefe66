meta:
  id: x
  endian: be
seq:
- {id: n, type: f4}
- {id: a, size: n.to_i}
