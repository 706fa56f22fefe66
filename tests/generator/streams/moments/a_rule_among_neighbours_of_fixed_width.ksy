meta:
  id: x
  endian: be
seq:
- {id: a, type: u1, valid: {expr: _ < n}}
- {id: b, type: u1}
- {id: c, type: u1}
instances:
  n: {value: m + 1}
  m: {pos: _io.pos, type: u1}
