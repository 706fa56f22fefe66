meta:
  id: x
  endian: be
seq:
- {id: n, type: str, size: 1, encoding: ASCII}
- {id: a, size: n.to_i}
