meta: {id: z000, imports: [varint], endian: le, bit-endian: be, encoding: UTF-8}
seq:
- {id: z001, type: u8}
- {id: z002, type: u4, valid: {min: 41}, -derive: length_of(z003..z011)}
- {id: z003, type: u4be, -derive: crc32(z004..z011)}
- {id: z004, size: 13, type: z040}
- {id: z005, size: 6}
- {id: z006, type: s8be}
- {id: z007, type: u4, -derive: last(z011.z020)}
- {id: z008, type: u4, -derive: max(z011.z020)}
- {id: z010, type: u2be, -derive: count_of(z011)}
- id: z011
  size: z002 - 41
  type: {switch-on: z004.z015, cases: {'z041::none': z042}}
  -codec: z004.z015
types:
  z040:
    seq:
    - {id: z060, type: u1}
    - {id: z061, type: u2}
    - {id: z062, type: s8}
    - {id: z012, type: b3}
    - {id: z013, type: b1, -default: false}
    - {id: z014, type: b2}
    - {id: z015, type: b2, enum: z041}
    - {id: z016, type: b8, valid: {max: 15}}
  z042:
    -unwrap: z017
    seq:
    - {id: z017, type: z043, repeat: eos}
  z043:
    -row:
      columns: [z049, z021, z022, z023, z024, z025, z026, z027, z029, z031, z032, z063, z064, z065, z066, z067, z068, z034, z035, z037, {name: z050, value: z026 + _batch.z007}, {name: z080, value: z026 + 1}, {name: z081, value: z021 + 1}]
      head: [{name: z051, type: int64, value: _batch.z006}, {name: z082, type: int64, value: _batch.z006}]
      unless: _batch.z004.z013
      bounds: {z049: {first: _batch.z006, last: _batch.z006 + _batch.z007}}
    seq:
    - {id: z020, type: u4, -column: {name: z049, type: 'timestamp[us, UTC]', value: _batch.z006 + z020}}
    - {id: z021, type: u1, valid: {any-of: [1, 2, 3, 0, 255]}}
    - {id: z022, type: s8}
    - {id: z023, type: b1}
    - {id: z024, type: b4}
    - {id: z025, type: b3, enum: z044}
    - {id: z026, type: varint}
    - {id: z027, size: 3}
    - {id: z028, type: u1, -derive: length_of(z029)}
    - {id: z029, type: str, size: z028}
    - {id: z030, type: s2be, -column: false}
    - {id: z031, size: z030, if: z030 >= 0, -nullable: true}
    - {id: z032, type: s4, if: z023, -default: -7}
    - {id: z033, type: z045}
    - {id: z036, type: u1, -derive: count_of(z037), -column: false}
    - {id: z037, type: z046, repeat: expr, repeat-expr: z036}
  z045:
    seq:
    - {id: z063, type: u1}
    - {id: z064, type: u1}
    - {id: z065, type: u1}
    - {id: z066, type: u1}
    - {id: z067, type: u1}
    - {id: z068, type: u1}
    - {id: z034, type: s2}
    - {id: z035, size: 2}
  z046:
    seq:
    - {id: z070, type: u1}
    - {id: z071, type: u1}
    - {id: z072, type: u1}
    - {id: z073, type: u1}
    - {id: z038, type: u2}
    - {id: z039, type: varint}
    - {id: z047, type: u1, -derive: length_of(z048)}
    - {id: z048, type: str, size: z047}
enums:
  z041: {0: none, 1: gzip}
  z044: {0: z052, 1: z053, 2: z054, 3: z055, 4: z056, 5: z057, 6: z058, 7: z059}
