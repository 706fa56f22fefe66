meta:
  id: x
  endian: be
seq:
- {id: a, type: u1, if: _parent.as<x>.a > 0}
