meta:
  id: x
  endian: be
seq:
- {id: a, type: b4le}
- {id: b, type: b12le}
- {id: c, type: b1le}
- {id: d, type: u1}
