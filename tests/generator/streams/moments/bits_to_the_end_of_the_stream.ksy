meta:
  id: x
  endian: be
seq:
- {id: a, type: b4, repeat: eos}
