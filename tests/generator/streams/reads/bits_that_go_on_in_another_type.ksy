meta:
  id: x
  endian: be
seq:
- {id: a, type: p}
- {id: b, type: b4}
- {id: c, type: b3}
- {id: d, type: p}
- {id: e, type: u1, if: a.q == 1}
- {id: f, type: b4}
- {id: g, size: 1}
- {id: h, type: b3}
- {id: i, terminator: 0}
types:
  p: {seq: [{id: q, type: b4}]}
