meta: {id: z400, endian: be, encoding: UTF-8}
seq:
- {id: z401, type: z410, repeat: eos}
types:
  z410:
    -row: {}
    seq:
    - {id: z402, type: u4}
    - {id: z403, type: u1, -column: false}
    - {id: z404, type: s1}
    - {id: z405, size: 4}
    - {id: z406, type: u2, -derive: length_of(z407)}
    - {id: z407, type: str, size: z406}
    - {id: z408, type: s8, -column: {name: z409, value: z408 + z402}}
