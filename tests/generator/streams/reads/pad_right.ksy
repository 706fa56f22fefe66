meta:
  id: x
  endian: be
seq:
- {id: a, size: 5, pad-right: 0x20}
- {id: b, type: str, size: 4, pad-right: 0, encoding: ASCII}
- {id: c, size: 4, terminator: 0x40, pad-right: 0x2e}
