meta:
  id: lines
  endian: be
doc: Lines of two kinds, as many as are counted and then those that follow.
seq:
  - id: magic
    contents: LN
  - id: count
    type: u1
  - id: all
    type: line
    repeat: expr
    repeat-expr: count
  - id: rest
    type: line
    repeat: eos
types:
  line:
    seq:
      - id: kind
        type: b4
      - id: size
        type: b4
      - id: text
        type: str
        size: size
        encoding: UTF-8
        if: kind != 0
      - id: end
        type: strz
        encoding: ASCII
        if: kind == 0
