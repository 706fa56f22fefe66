meta:
  id: x
  endian: be
seq:
- {id: a, type: b4le, repeat: eos}
