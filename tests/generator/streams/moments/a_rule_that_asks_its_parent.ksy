meta:
  id: x
  endian: be
seq:
- {id: a, type: p}
instances:
  m: {pos: _io.pos, type: u1}
types:
  p: {seq: [{id: b, type: u1, valid: {expr: _ < _parent.m}}, {id: c, type: u1}, {id: d, type: u1}]}
