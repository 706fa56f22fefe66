meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, type: p}
types:
  p: {seq: [{id: b, type: q, parent: _root}]}
  q: {seq: [{id: c, size: _parent.n}]}
