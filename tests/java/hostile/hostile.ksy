meta:
  id: hostile
  title: 'Ends a comment: */ } \u002a/ @see <b> {@code x} & "'
  endian: le
doc: |
  */ class Broken { } /* \u002a/ {@link Nowhere} @deprecated <script> &amp;
seq:
  - id: class
    type: u1
    enum: switch
    doc: '*/ \u002a\u002f'
  - id: get_class
    type: u8
  - id: hash_code
    type: f4
  - id: length
    type: s2
    valid:
      min: -3
  - id: list
    type: string
    size: 4
  - id: buf
    size: 2
  - id: in
    type: b3
  - id: int
    type: b1
  - id: new
    type: b4
  - id: tail
    type: object
    repeat: eos
types:
  object:
    doc: A type called as one of Java's.
    seq:
      - id: input
        type: u1
      - id: rest
        size: input
        type: str
        encoding: UTF-8
  string:
    seq:
      - id: fields
        type: s4
enums:
  switch:
    0: 'null'
    1: record
