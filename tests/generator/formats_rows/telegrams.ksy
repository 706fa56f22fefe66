meta:
  id: telegrams
  title: Telegrams, one after another
  license: CC0-1.0
  ks-version: '0.10'
  encoding: ASCII
  endian: be
  bit-endian: be
doc: Rows without a container around them.
seq:
  - id: telegrams
    type: telegram
    repeat: eos
    doc: One after another.
types:
  telegram:
    -row:
      columns:
        - number
        - urgency
        - sender
        - cost
        - text
        - {name: after, value: number + 1}
      unless: kind == 9
      bounds:
        number:
          first: number
          last: number
    seq:
      - id: number
        type: u4
        doc: Ascending.
      - id: kind
        type: u1
        -column: false
        doc: 9 is a test.
      - id: urgency
        type: s1
        valid:
          any-of: [-1, 0, 5]
        doc: -1 has time, 5 has none.
      - id: sender
        size: 4
        doc: A call sign.
      - id: cost
        type: u2le
        doc: In cents.
      - id: len_text
        type: u2
        -derive: length_of(text)
        doc: Length of `text`, in bytes.
      - id: text
        type: str
        size: len_text
        doc: Text of the telegram.
      - id: crc
        type: u4
        -derive: crc32c(number..text)
        -column: false
        doc: CRC-32C of all before it.
