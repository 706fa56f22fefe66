meta: {id: z100, endian: be, encoding: UTF-8}
seq:
- {id: z101, type: z110, repeat: eos}
types:
  z110:
    -row:
      columns: [z102, z111, z112, z103, z104, z106, {name: z108, value: z102 + 1}]
      unless: z105 == 9
      bounds: {z102: {first: z102, last: z102}}
    seq:
    - {id: z102, type: u4}
    - {id: z105, type: u1, -column: false}
    - {id: z111, type: s2}
    - {id: z112, type: f8}
    - {id: z103, type: s1}
    - {id: z104, size: 4}
    - {id: z107, type: u2, -derive: length_of(z106)}
    - {id: z106, type: str, size: z107}
    - {id: z109, type: u4, -derive: crc32c(z102..z106), -column: false}
