meta:
  id: x
  endian: be
seq:
- {id: a, size-eos: true, process: zlib}
