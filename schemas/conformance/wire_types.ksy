meta:
  id: wire_types
  title: Kafka protocol's primitives, one in each type
  application: Apache Kafka
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/blob
    - ../primitives/bool8
    - ../primitives/nullable_blob
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
    - ../primitives/varint
    - ../primitives/varlong
  endian: be
doc: |
  Nothing of Kafka's is of these types: they are there for test vectors, in
  which each primitive stands alone.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types Protocol Primitive Types
seq:
  - id: flag
    type: bool8
    doc: What the protocol calls BOOLEAN.
  - id: identity
    type: uuid
    doc: What the protocol calls UUID.
types:
  one_varint:
    doc: VARINT, zigzag, 32 bits.
    seq:
      - id: number
        type: varint
        doc: The number.
  one_varlong:
    doc: VARLONG, zigzag, 64 bits.
    seq:
      - id: number
        type: varlong
        doc: The number.
  one_unsigned_varint:
    doc: UNSIGNED_VARINT, 32 bits.
    seq:
      - id: number
        type: unsigned_varint
        doc: The number.
  classic:
    doc: Text and bytes with a 16-bit or 32-bit length.
    seq:
      - id: name
        type: text(false)
        doc: What the protocol calls STRING.
      - id: note
        type: nullable_text(false)
        doc: What the protocol calls NULLABLE_STRING.
      - id: data
        type: blob(false)
        doc: What the protocol calls BYTES.
      - id: more
        type: nullable_blob(false)
        doc: What the protocol calls NULLABLE_BYTES.
  compact:
    doc: |
      Text and bytes with an unsigned varint of the length plus one, and a
      section of tagged fields.
    seq:
      - id: name
        type: text(true)
        doc: What the protocol calls COMPACT_STRING.
      - id: note
        type: nullable_text(true)
        doc: What the protocol calls COMPACT_NULLABLE_STRING.
      - id: data
        type: blob(true)
        doc: What the protocol calls COMPACT_BYTES.
      - id: more
        type: nullable_blob(true)
        doc: What the protocol calls COMPACT_NULLABLE_BYTES.
      - id: tagged_fields
        type: tagged_fields
        doc: Fields that no schema knows.
