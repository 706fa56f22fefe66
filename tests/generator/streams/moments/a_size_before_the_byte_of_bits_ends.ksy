meta:
  id: x
  endian: be
seq:
- {id: a, type: b4}
- {id: b, size: 'n'}
- {id: c, size: '_io.eof ? 2 : 1', type: p}
instances: {n: {value: '_io.eof ? 0 : 1'}}
types:
  p: {seq: [{id: x, type: u1}]}
