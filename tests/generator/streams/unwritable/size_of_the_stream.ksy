meta:
  id: x
  endian: be
seq:
- {id: n, size: _io.size - 1}
- {id: m, type: u1, valid: {max: _io.size}}
