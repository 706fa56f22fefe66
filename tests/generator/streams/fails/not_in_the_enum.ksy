meta:
  id: x
  endian: be
seq:
- {id: c, type: u1, enum: e, valid: {in-enum: true}}
enums:
  e: {1: one}
