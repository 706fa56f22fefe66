meta:
  id: x
  endian: be
seq:
- {id: y, size: 2, type: {switch-on: _io.pos, cases: {0: p, 4: p}}, repeat: eos}
types:
  p: {seq: [{id: a, type: u1}]}
