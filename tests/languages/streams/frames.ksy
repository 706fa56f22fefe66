meta:
  id: frames
  endian: be
  bit-endian: be
doc: Frames with a checksum over themselves, their sizes, and a count that stands before them.
seq:
  - id: head
    type: head
  - id: frames
    type: frame
    repeat: expr
    repeat-expr: head.num_frames
types:
  head:
    seq:
      - id: num_frames
        type: u1
        -derive: count_of(_parent.frames)
      - id: sum
        type: u2
        -derive: {value: sum(_parent.frames) & 0xffff, when: num_frames > 0}
  frame:
    seq:
      - id: sync
        contents: [0xeb, 0x90]
      - id: kind
        type: b4
      - id: flags
        type: b4
      - id: checksum
        type: u4
        -derive: {value: crc32(sync..samples), own: 0}
      - id: room
        type: u2
        -derive: {value: length_of(sync..samples), verify: at_least}
      - id: num_samples
        type: u1
      - id: samples
        type: s2
        repeat: expr
        repeat-expr: num_samples
