meta: {id: pack, endian: le, encoding: UTF-8}
doc: A file with a table of sections, at positions that are multiples of 16.
seq:
  - {id: magic, contents: PACK}
  - {id: version, type: u2, valid: 1}
  - {id: num_sections, type: u2}
  - {id: sections, type: section, repeat: expr, repeat-expr: num_sections}
types:
  section:
    seq:
      - {id: name, type: str, size: 8, pad-right: 0}
      - {id: ofs_body, type: u4, valid: {expr: _ % 16 == 0}}
      - {id: len_body, type: u4}
    instances:
      body: {pos: ofs_body, size: len_body, -align: 16}
