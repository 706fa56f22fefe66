meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: c, contents: [1], if: n > 0}
