meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: b, type: {switch-on: n, cases: {1: u1}}}
