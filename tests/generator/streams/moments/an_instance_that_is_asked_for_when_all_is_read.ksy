meta:
  id: x
  endian: be
seq:
- {id: a, type: u1}
- {id: b, size: 4}
instances:
  i: {pos: 1, type: p}
types:
  p: {seq: [{id: x, type: u1}], instances: {l: {value: _io.pos}, k: {pos: _io.pos - 1, type: u1}}}
