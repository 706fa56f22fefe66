meta:
  id: x
  endian: be
seq:
- {id: a, type: u1}
instances:
  i: {pos: 1, type: p}
types:
  p: {seq: [{id: x, type: u1}, {id: y, size: _root._io.pos}, {id: z, type: u1, if: _parent._io.pos == 4}]}
