meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
instances:
  a: {value: n + 1, if: n > 1}
  b: {value: n, enum: e}
  c: {pos: 0, type: u1, if: n > 1}
enums:
  e: {1: one}
