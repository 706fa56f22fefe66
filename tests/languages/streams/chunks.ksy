meta:
  id: chunks
doc: Chunks of numbers and bytes in the byte order that the first byte says, until one without content.
seq:
  - id: order
    type: u1
    valid:
      any-of: [1, 2]
  - id: body
    type: body
types:
  body:
    meta:
      endian:
        switch-on: _root.order
        cases:
          1: le
          2: be
    seq:
      - id: chunks
        type: chunk
        repeat: until
        repeat-until: _.size == 0
    types:
      chunk:
        seq:
          - id: kind
            type: u1
          - id: size
            type: u2
          - id: content
            size: size
            type:
              switch-on: kind
              cases:
                0: number
                1: packed
      number:
        seq:
          - id: value
            type: f4
          - id: more
            type: s8
            if: not _io.eof
      packed:
        seq:
          - id: key
            type: u1
          - id: data
            size-eos: true
            process: xor(key)
