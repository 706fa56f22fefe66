meta:
  id: x
  endian: be
seq:
- {id: a, type: str, size: 4, encoding: ASCII}
- {id: b, size: 2}
instances:
  c: {value: 'a.substring(1, 3).reverse + "!"'}
  d: {value: 'a.substring(2, 4).to_i(16)'}
  e: {value: 'b.to_s("UTF-8").length'}
  f: {value: 'f"{d}/{a}"'}
  g: {value: 'd.to_s + sizeof<u4>.to_s'}
