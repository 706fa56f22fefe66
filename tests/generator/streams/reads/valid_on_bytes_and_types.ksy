meta:
  id: x
  endian: be
seq:
- {id: a, size: 2, valid: {eq: '[1, 2]'}}
- {id: b, type: p, valid: {expr: _.q > 2}}
- {id: c, type: u1, enum: e, valid: {in-enum: true}}
types:
  p: {seq: [{id: q, type: u1}]}
enums:
  e: {1: one}
