meta:
  id: x
  endian: be
seq:
- {id: b, type: p}
- {id: c, type: u1}
types:
  p: {seq: [{id: n, size: _root.c}]}
