meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: y, size: 3, terminator: 0, type: {switch-on: n, cases: {1: p}}}
- {id: z, size: 3, pad-right: 0, process: xor(0), type: {switch-on: n, cases: {1: p}}}
- {id: w, terminator: 0, type: {switch-on: n, cases: {1: p}}}
- {id: v, type: u1}
types:
  p: {seq: [{id: q, type: u1}]}
