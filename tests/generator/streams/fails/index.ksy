meta:
  id: x
  endian: be
seq:
- {id: n, size: 1}
- {id: a, size: 'n[4]'}
