meta:
  id: x
  endian: be
seq:
- {id: y, size: m & 3, type: p(_io.pos), repeat: expr, repeat-expr: n}
- {id: z, size: 2, process: xor(k)}
instances:
  n: {pos: _io.pos, type: u1}
  m: {pos: _io.pos, type: u1}
  k: {pos: _io.pos - 1, type: u1}
types:
  p: {params: [{id: a, type: u4}], seq: [{id: b, size-eos: true}]}
