meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, size: m}
instances:
  m: {value: _parent.as<x>.n}
