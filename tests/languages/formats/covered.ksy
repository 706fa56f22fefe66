# What covers a part of what follows, and rules and sizes inside of runs and switches.
meta: {id: covered, endian: be}
seq:
  - {id: crc, type: u4, -derive: crc32c(first..second)}
  - {id: first, type: u1}
  - {id: second, type: u1}
  - {id: rest, size-eos: true}
types:
  length_of_two:
    seq:
      - {id: len_both, type: u4, -derive: length_of(first..second)}
      - {id: first, type: u1}
      - {id: second, type: u1}
      - {id: rest, size-eos: true}
  bounds:
    seq:
      - {id: low, type: u1}
      - {id: high, type: u1, valid: {min: low}}
  between:
    seq:
      - {id: edges, type: bounds}
      - {id: value, type: u1}
  sized_case:
    seq:
      - {id: kind, type: u1}
      - {id: body, size: 3, type: {switch-on: kind, cases: {1: three, 2: two}}}
  counted_case:
    seq:
      - {id: kind, type: u1}
      - {id: num_pairs, type: u1}
      - {id: body, size: num_pairs * 2, type: {switch-on: kind, cases: {1: pairs, 2: two}}}
  three: {seq: [{id: a, type: u1}, {id: b, type: u2}]}
  two: {seq: [{id: a, type: u2}]}
  pairs: {seq: [{id: all, type: u2, repeat: eos}]}
  size_by_kind:
    seq:
      - {id: kind, type: u1}
      - {id: len_rest, type: u2, valid: {min: 9}, -derive: length_of(flags..body)}
      - {id: flags, type: u1}
      - {id: more, type: s8, -default: 0, if: kind >= 2}
      - {id: body, size: 'len_rest - (kind >= 2 ? 9 : 1)'}
