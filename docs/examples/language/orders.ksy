meta: {id: orders, endian: be, encoding: UTF-8}
doc: A message with events, a body that may be compressed, and a checksum.
seq:
  - {id: magic, contents: OM}
  - {id: num_events, type: u2, -derive: count_of(events)}
  - {id: events, type: event, repeat: expr, repeat-expr: num_events}
  - {id: content, type: content}
  - {id: crc, type: u4, -derive: crc32(magic..content)}
types:
  event:
    seq:
      - {id: kind, type: u1, enum: kinds}
      - {id: len_body, type: u2, -derive: length_of(body)}
      - id: body
        size: len_body
        type: {switch-on: kind, cases: {'kinds::created': created, 'kinds::moved': moved}}
  created:
    seq:
      - {id: len_name, type: u1, -derive: length_of(name)}
      - {id: name, type: str, size: len_name}
  moved: {seq: [{id: x, type: s4}, {id: y, type: s4}]}
  content:
    seq:
      - {id: codec, type: u1, enum: codecs, -default: none}
      - {id: len_body, type: u4}
      - id: body
        size: len_body
        type: {switch-on: codec, cases: {'codecs::none': payload}}
        -codec: codec
  payload: {seq: [{id: note, type: str, size-eos: true}]}
enums:
  kinds: {1: created, 2: moved}
  codecs: {0: none, 1: gzip, 2: zstd}
