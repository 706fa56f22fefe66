meta: {id: left, endian: be}
doc: Sizes that may be negative, and sizes of what other fields leave of a range.
seq:
  - {id: few, type: u1}
  - {id: some, size: few - 3}
  - {id: signed, type: s1}
  - {id: numbers, type: u2, repeat: expr, repeat-expr: signed + 1}
  - {id: known, type: known}
  - {id: unknown, type: unknown}
  - {id: listed, type: listed}
  - {id: rest, type: named}
types:
  known:
    doc: What is left follows from the schema.
    seq:
      - {id: len, type: u2, -derive: length_of(kind..data)}
      - {id: kind, type: u1, valid: {any-of: [2, 3]}}
      - {id: more, type: u4, if: kind == 3, -default: 5}
      - {id: data, size: 'len - (kind > 2 ? 5 : 1)'}
  unknown:
    doc: The writer compares it, as `part` has no fixed size.
    seq:
      - {id: len, type: u4, -derive: length_of(kind..data) + 2}
      - {id: kind, type: u1}
      - {id: part, type: part}
      - {id: data, size: 'len - (kind >= 2 ? 9 : 5)', if: kind != 0, -default: empty}
  listed:
    doc: A count of what is left of bytes.
    seq:
      - {id: len, type: u1, -derive: length_of(part..numbers)}
      - {id: part, type: part}
      - {id: numbers, type: u2, repeat: expr, repeat-expr: len / 2 - 1}
  named:
    seq:
      - {id: len, type: u1, -derive: length_of(text..text)}
      - {id: short, type: u1}
      - {id: text, type: str, encoding: UTF-8, size: len - short}
  part:
    seq:
      - {id: n, type: u1}
      - {id: value, size: n}
