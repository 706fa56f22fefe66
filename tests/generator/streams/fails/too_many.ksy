meta:
  id: x
  endian: be
seq:
- {id: a, type: u1, repeat: until, repeat-until: false}
- {id: z, terminator: 0}
