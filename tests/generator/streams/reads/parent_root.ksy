meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, type: p}
types:
  p: {seq: [{id: m, type: u1}, {id: b, type: q}]}
  q: {seq: [{id: c, size: _root.n}, {id: d, size: _parent.m}]}
