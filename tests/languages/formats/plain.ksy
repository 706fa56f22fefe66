meta:
  id: plain
  title: Sizes and counts without extension keys, which a writer computes all the same
  license: CC0-1.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: be
seq:
  - id: len_name
    type: u1
    doc: The size of the name.
  - id: name
    type: str
    size: len_name
    doc: A text.
  - id: len_data
    type: u2
    valid:
      min: 2
    doc: The size of the data, and of itself.
  - id: data
    size: len_data - 2
    doc: Bytes.
  - id: kind
    type: b4
    doc: Beside a count of bits.
  - id: num_numbers
    type: b12
    doc: How many numbers there are.
  - id: numbers
    type: s4
    repeat: expr
    repeat-expr: num_numbers
    doc: Numbers.
  - id: len_part
    type: s4
    valid:
      min: 0
    doc: The size of the part.
  - id: part
    type: part
    size: len_part
    doc: A part.
  - id: num_parts
    type: u1
    doc: How many parts there are, less one.
  - id: parts
    type: part_of_one
    repeat: expr
    repeat-expr: more
    doc: Parts.
instances:
  more:
    value: num_parts + 1
    doc: How many parts there are.
types:
  part:
    doc: A number, and what is left.
    seq:
      - id: number
        type: u2
        doc: A number.
      - id: rest
        size-eos: true
        doc: What is left.
  part_of_one:
    doc: A number.
    seq:
      - id: number
        type: u2
        doc: A number.
