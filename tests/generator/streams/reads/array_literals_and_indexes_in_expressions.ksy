meta:
  id: x
  endian: be
seq:
- {id: a, type: u1, repeat: expr, repeat-expr: 3}
- {id: b, size: 'a[1]'}
instances:
  c: {value: '[1000, 2000][a[0]]'}
  d: {value: a.first + a.last + a.max}
  e: {value: 'b == [0x78, 0x79]'}
