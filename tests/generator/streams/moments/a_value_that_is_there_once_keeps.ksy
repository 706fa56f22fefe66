meta:
  id: x
  endian: be
seq:
- {id: a, type: u1}
- {id: b, type: p}
- {id: c, type: p}
instances:
  m: {value: a + 1, if: _io.pos == 2}
types:
  p: {seq: [{id: x, type: u1, valid: {expr: _parent.m == 6}}]}
