meta:
  id: x
  endian: be
seq:
- {id: a, type: p, repeat: eos}
types:
  p: {seq: [{id: x, type: b1}, {id: y, type: b2}]}
