meta:
  id: x
  endian: be
seq:
- {id: a, type: u2}
- {id: b, size: 2}
- {id: c, type: b1}
- {id: d, type: b3, enum: e}
- {id: e, type: b12}
- {id: f, type: s1, valid: {max: 9}}
- {id: g, type: b4le}
- {id: h, type: b2le}
- {id: i, type: f4}
- {id: j, terminator: 0}
enums:
  e: {5: five}
