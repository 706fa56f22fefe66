meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: b, type: u1, if: n > 0}
