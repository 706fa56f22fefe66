meta:
  id: grouped
  title: Bit fields that fill 3, 5 and 8 bytes together
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
seq:
  - id: upper
    type: b4
    doc: The upper bits of 3 bytes.
  - id: lower
    type: b20
    doc: The lower bits of 3 bytes.
  - id: flag
    type: b1
    doc: The first bit of 5 bytes.
  - id: number
    type: b32
    doc: A number that begins within a byte.
  - id: rest
    type: b7
    doc: What is left of 5 bytes.
  - id: first
    type: b8
    doc: The first of 8 bytes.
  - id: others
    type: b56
    doc: The others of 8 bytes.
