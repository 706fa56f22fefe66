meta:
  id: x
  endian: be
seq:
- {id: a, type: p, repeat: eos}
types:
  p: {seq: []}
  z: {seq: [{id: q, terminator: 0}]}
