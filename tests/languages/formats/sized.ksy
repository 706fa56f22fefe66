meta:
  id: sized
  title: Sizes and counts without extension keys in types with versions
  license: CC0-1.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: be
-versions: 0-2
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 2
    doc: Version of the message.
  - id: len_name
    type: u1
    doc: The size of the name.
  - id: name
    type: str
    size: len_name
    doc: A text.
  - id: added
    type: u4
    if: version >= 1
    -since: 1
    doc: Not in the first version.
  - id: len_item
    type: u2
    valid:
      min: 1
    doc: The size of the item, and one.
  - id: item
    type: item(version)
    size: len_item - 1
    doc: An item.
  - id: num_items
    type: u1
    doc: How many items there are.
  - id: items
    type: item(version)
    repeat: expr
    repeat-expr: num_items
    doc: Items.
types:
  item:
    -versions: 0-2
    doc: A number and bytes.
    params:
      - id: version
        type: s2
        doc: Version of the message.
    seq:
      - id: number
        type: s4
        doc: A number.
      - id: len_data
        type: u1
        doc: The size of the data.
      - id: data
        size: len_data
        doc: Bytes.
      - id: flag
        type: u1
        if: version >= 2
        -since: 2
        doc: Only in the last version.
