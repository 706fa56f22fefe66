meta:
  id: x
  endian: be
seq:
- {id: key, type: u1}
- {id: a, size: 3, process: xor(key)}
- {id: b, size: 2, process: rol(3)}
- {id: c, type: p, size: 3, process: 'xor([1, 2])'}
- {id: d, size-eos: true, process: zlib}
types:
  p: {seq: [{id: q, type: u2}]}
