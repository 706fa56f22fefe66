meta:
  id: x
  endian: be
seq:
- {id: a, terminator: 0}
- {id: b, terminator: 0x7c, include: true}
- {id: c, terminator: 0x3b, consume: false}
- {id: d, type: u1}
- {id: e, terminator: [0, 0]}
- {id: f, terminator: 0, eos-error: false}
