meta:
  id: noted
  title: Message whose newer fields may be null, and are not where a version lacks them
  license: CC0-1.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: be
-versions: 0-2
seq:
  - id: version
    type: u1
    doc: Version of the message.
  - id: len_note
    type: s1
    if: version >= 1
    -since: 1
    -derive: length_of(note)
    doc: Length of `note`, in bytes; -1 is none.
  - id: note
    type: str
    encoding: UTF-8
    size: len_note
    if: version >= 1 and len_note >= 0
    -since: 1
    -nullable: len_note == -1
    -default: '"as before"'
    doc: A text, or none.
  - id: num_ids
    type: s2
    if: version >= 2
    -since: 2
    -derive: count_of(ids)
    doc: Number of elements of `ids`; -1 is null.
  - id: ids
    type: s4
    repeat: expr
    repeat-expr: num_ids
    if: version >= 2 and num_ids >= 0
    -since: 2
    -nullable: num_ids == -1
    -default: empty
    doc: Numbers, or null.
