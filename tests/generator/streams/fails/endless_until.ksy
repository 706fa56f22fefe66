meta:
  id: x
  endian: be
seq:
- {id: a, type: p, repeat: until, repeat-until: a.size == -1}
types:
  p: {seq: []}
