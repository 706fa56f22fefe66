meta:
  id: x
  endian: be
seq:
- {id: n, type: u1}
- {id: a, type: 'p(n > 1, n > 2)'}
types:
  p:
    params:
    - {id: q, type: bool}
    - {id: r, type: bool}
    seq:
    - {id: s, type: u1, if: q and not r}
