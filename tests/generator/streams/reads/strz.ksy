meta:
  id: x
  endian: be
seq:
- {id: a, type: strz, encoding: UTF-8}
- {id: b, type: strz, size: 6, encoding: ASCII}
- {id: c, type: strz, encoding: UTF-16LE}
