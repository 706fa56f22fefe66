meta:
  id: wire_kinds
  title: All that the native reader and writer of messages know
  imports:
    - unsigned_varint
    - uuid
    - varint
    - varlong
    - bool8
    - text
    - nullable_text
    - blob
    - nullable_blob
    - tagged_fields
  endian: be
-versions: 0-3
-message:
  flexible: 2+
doc: Every kind of value, alone and in lists, in versions that have it differently.
params:
  - id: version
    type: s2
seq:
  - {id: magic, type: s1, valid: {eq: 7}}
  - {id: small, type: u1}
  - {id: tiny, type: s1, -default: -1}
  - {id: short, type: u2, if: version >= 1}
  - {id: signed_short, type: s2, if: version <= 2, -ignorable: true, -default: 5}
  - {id: word, type: u4}
  - {id: signed_word, type: s4}
  - {id: long, type: u8}
  - {id: signed_long, type: s8}
  - {id: ratio, type: f8}
  - {id: small_ratio, type: f4}
  - {id: steps, type: varint}
  - {id: many_steps, type: varlong}
  - {id: flag, type: bool8}
  - {id: key, type: uuid}
  - {id: number, type: unsigned_varint}
  - {id: name, type: text(version >= 2)}
  - {id: nickname, type: nullable_text(version >= 2), -default: 'null'}
  - {id: body, type: blob(version >= 2)}
  - {id: rest, type: nullable_blob(version >= 2)}
  - {id: num_numbers, type: s4, valid: {min: 0}, -derive: count_of(numbers)}
  - {id: numbers, type: s8, repeat: expr, repeat-expr: num_numbers}
  - {id: num_flags, type: u2, -derive: count_of(flags)}
  - {id: flags, type: bool8, repeat: expr, repeat-expr: num_flags}
  - {id: num_ratios, type: s2, valid: {min: 0}, -derive: count_of(ratios)}
  - {id: ratios, type: f8, repeat: expr, repeat-expr: num_ratios}
  - {id: num_small_ratios, type: u4, -derive: count_of(small_ratios)}
  - {id: small_ratios, type: f4, repeat: expr, repeat-expr: num_small_ratios}
  - {id: num_walks, type: u1, -derive: count_of(walks)}
  - {id: walks, type: varlong, repeat: expr, repeat-expr: num_walks}
  - id: num_keys
    type: s4
  - id: keys
    type: uuid
    repeat: expr
    repeat-expr: num_keys
    if: num_keys >= 0
    -nullable: true
  - id: num_names_plus_one
    type: unsigned_varint
  - id: names
    type: nullable_text(version >= 2)
    repeat: expr
    repeat-expr: num_names_plus_one.value - 1
    if: num_names_plus_one.value >= 1
    -nullable: true
    -default: empty
  - {id: num_branches, type: s2, valid: {min: 0}, -derive: count_of(branches)}
  - {id: branches, type: branch(version), repeat: expr, repeat-expr: num_branches}
  - {id: num_leaves, type: s4, valid: {min: 0}, -derive: count_of(leaves)}
  - {id: leaves, type: leaf, repeat: expr, repeat-expr: num_leaves}
  - {id: plain, type: leaf}
  - {id: has_bough, type: s1}
  - {id: bough, type: branch(version), if: has_bough >= 0, -nullable: true}
  - {id: tagged_fields, type: message_tags, if: version >= 2}
types:
  leaf:
    seq:
      - {id: color, type: u2, -default: 3}
  branch:
    -versions: 0-3
    params:
      - id: version
        type: s2
    seq:
      - {id: label, type: text(version >= 2)}
      - {id: age, type: s4, if: version >= 1, -default: 1}
      - {id: num_twigs, type: u1, -derive: count_of(twigs)}
      - {id: twigs, type: leaf, repeat: expr, repeat-expr: num_twigs}
      - {id: tagged_fields, type: tagged_fields, if: version >= 2}
  nullable_leaf:
    -unwrap: value
    seq:
      - {id: has_value, type: unsigned_varint}
      - {id: value, type: leaf, if: has_value.value >= 1, -nullable: true}
  numbers_list:
    -unwrap: items
    seq:
      - {id: num_items_plus_one, type: unsigned_varint}
      - id: items
        type: s4
        repeat: expr
        repeat-expr: num_items_plus_one.value - 1
        if: num_items_plus_one.value - 1 >= 0
        -nullable: true
  message_tags:
    seq:
      - {id: num_fields, type: unsigned_varint}
      - {id: fields, type: message_tag, repeat: expr, repeat-expr: num_fields.value}
  message_tag:
    seq:
      - {id: tag, type: unsigned_varint}
      - {id: len_body, type: unsigned_varint}
      - id: body
        size: len_body.value
        type:
          switch-on: tag.value.as<s4>
          cases:
            0: s8
            1: text(true)
            5: nullable_leaf
            9: numbers_list
            200: leaf
            300: f8
        -tags:
          0: {id: since, -default: -1}
          1: {id: note, -versions: 3+, -ignorable: true}
          5: {id: gift}
          9: {id: marks, -default: 'null'}
          200: {id: last}
          300: {id: weight}
