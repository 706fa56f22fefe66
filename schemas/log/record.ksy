meta:
  id: record
  title: Kafka record (magic 2)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/varint
    - ../primitives/varlong
  encoding: UTF-8
  endian: be
doc: |
  One record of a record batch of magic 2, after decompression. Its offset and
  timestamp are relative to the batch header.
doc-ref: https://kafka.apache.org/documentation/#record Record
seq:
  - id: len_body
    -orig-id: length
    type: varint
    -valid:
      expr: _.value >= 0
    -derive: length_of(body)
    doc: Length of everything after this field, in bytes.
  - id: body
    size: len_body.value
    type: record_body
    doc: The record itself. It fills `len_body` bytes exactly.
types:
  record_body:
    -row:
      columns:
        - offset
        - timestamp
        - name: timestamp_type
          type: int32
          value: _batch.attributes.timestamp_type
        - key
        - value
        - headers
      unless: _batch.attributes.is_control
      bounds:
        offset:
          first: _batch.base_offset
          last: _batch.base_offset + _batch.last_offset_delta
        timestamp:
          last: _batch.max_timestamp
    doc: A record after its length.
    doc-ref: >-
      https://github.com/apache/kafka/blob/4.0.0/clients/src/main/java/org/apache/kafka/common/record/DefaultRecord.java
      DefaultRecord
    seq:
      - id: attributes
        type: s1
        -default: 0
        -column: false
        doc: No bit is used. Written as 0; any value is accepted and kept.
      - id: timestamp_delta
        -orig-id: timestampDelta
        type: varlong
        -column:
          name: timestamp
          type: 'timestamp[ms, UTC]'
          value: |
            _batch.attributes.timestamp_type == timestamp_type::log_append_time
            ? _batch.max_timestamp : _batch.base_timestamp + timestamp_delta
        doc: |
          The record's timestamp minus the batch's `base_timestamp`, in
          milliseconds; may be negative. Ignored if the batch's timestamp type
          is `log_append_time`: then all records have the batch's
          `max_timestamp`. A timestamp of -1 means none.
      - id: offset_delta
        -orig-id: offsetDelta
        type: varint
        -column:
          name: offset
          type: int64
          value: _batch.base_offset + offset_delta
        doc: This record's offset minus the batch's `base_offset`.
      - id: len_key
        -orig-id: keyLength
        type: varint
        -column: false
        doc: Length of `key`, in bytes. Any negative length means null.
      - id: key
        size: len_key.value
        if: len_key.value >= 0
        -nullable: true
        doc: The key, or null. Null and empty differ.
      - id: len_value
        -orig-id: valueLength
        type: varint
        -column: false
        doc: Length of `value`, in bytes. Any negative length means null.
      - id: value
        size: len_value.value
        if: len_value.value >= 0
        -nullable: true
        doc: |
          The value, or null. Null and empty differ. In a compacted topic, null
          deletes the key.
      - id: num_headers
        -orig-id: headersCount
        type: varint
        -valid:
          expr: _.value >= 0
        -derive: count_of(headers)
        -column: false
        doc: Number of headers.
      - id: headers
        type: header
        repeat: expr
        repeat-expr: num_headers.value
        doc: |
          Headers in the producer's order; keys may repeat. May be empty, never
          null.
  header:
    doc: One header of a record (KIP-82).
    doc-ref: https://kafka.apache.org/documentation/#recordheader Record Header
    seq:
      - id: len_key
        -orig-id: headerKeyLength
        type: varint
        -valid:
          expr: _.value >= 0
        -derive: length_of(key)
        doc: Length of `key`, in bytes.
      - id: key
        -orig-id: headerKey
        size: len_key.value
        type: str
        doc: The header's key, in UTF-8. May be empty, never null.
      - id: len_value
        -orig-id: headerValueLength
        type: varint
        doc: Length of `value`, in bytes. Any negative length means null.
      - id: value
        -orig-id: Value
        size: len_value.value
        if: len_value.value >= 0
        -nullable: true
        doc: The header's value, or null. Null and empty differ.
