meta: {id: chunks, endian: be, encoding: ASCII}
doc: Chunks to the end of the file. A chunk of an unknown kind keeps its bytes.
seq:
  - {id: magic, contents: CHNK}
  - {id: chunks, type: chunk, repeat: eos}
types:
  chunk:
    seq:
      - {id: len_body, type: u4, -derive: length_of(body)}
      - {id: kind, type: str, size: 4}
      - id: body
        size: len_body
        type: {switch-on: kind, cases: {'"HEAD"': head, '"TEXT"': text}}
      - {id: crc, type: u4, -derive: crc32(kind..body)}
  head: {seq: [{id: width, type: u4}, {id: height, type: u4}]}
  text: {seq: [{id: value, type: str, size-eos: true}]}
