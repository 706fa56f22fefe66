meta:
  id: x
  endian: be
seq:
- {id: a, size: _index + 1, repeat: until, repeat-until: _index == 2}
- {id: b, type: p(_index), repeat: expr, repeat-expr: 2}
types:
  p:
    params: [{id: i, type: u1}]
    seq: [{id: c, type: u1}]
