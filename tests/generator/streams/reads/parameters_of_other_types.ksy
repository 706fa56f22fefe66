meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: s, type: strz, encoding: ASCII}
- {id: a, type: 'p(s, _root, n == 1)'}
types:
  p:
    params:
    - {id: t, type: str}
    - {id: o, type: x}
    - {id: f, type: bool}
    seq:
    - {id: b, size: t.length + o.n}
