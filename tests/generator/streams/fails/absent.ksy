meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: m, type: u1, if: n > 0}
- {id: a, size: m}
