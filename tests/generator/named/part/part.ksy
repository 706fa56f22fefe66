meta: {id: part, endian: be}
seq:
- {id: a, type: u1}
types:
  inner:
    seq:
    - {id: b, type: u1}
