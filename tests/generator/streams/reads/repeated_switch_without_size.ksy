meta:
  id: x
  endian: be
seq:
- {id: a, type: p, repeat: eos}
- {id: z, size-eos: true}
types:
  p:
    seq:
    - {id: n, type: u1}
    - {id: b, type: {switch-on: n, cases: {1: u1, 2: u2}}}
