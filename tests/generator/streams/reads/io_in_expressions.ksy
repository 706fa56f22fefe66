meta:
  id: x
  endian: be
seq:
- {id: a, size: _io.size - 2}
- {id: b, type: u1, if: _io.pos == _io.size - 2}
- {id: c, type: u1, if: not _io.eof}
- {id: d, type: u1, if: not _io.eof}
