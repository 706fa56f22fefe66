meta:
  id: message_set
  title: Kafka message set (magic 0 and 1)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
  bit-endian: be
doc: |
  The message format before Apache Kafka 0.11, on disk and on the wire: magic 0
  up to Kafka 0.9, magic 1 (KIP-32) in Kafka 0.10. A message set is a sequence
  of messages, each after 12 bytes of offset and length.

  A compressed message set is the value of a single message, the wrapper, whose
  offset is that of the last inner message. Inner messages have absolute offsets
  in magic 0, and relative offsets (0, 1, 2, with gaps after compaction) in
  magic 1: the absolute offset is the wrapper's offset, minus the last relative
  offset, plus the message's relative offset. Inner messages must not be
  wrappers.

  A fetch response may cut the last message short. This schema describes
  complete messages only.
doc-ref: https://kafka.apache.org/documentation/#messageset Old Message Format
seq:
  - id: entries
    type: entry
    repeat: eos
    doc: The messages with their offsets.
types:
  entry:
    -row:
      columns:
        - offset
        - timestamp
        - name: timestamp_type
          type: int32
          value: |
            message.magic == 0
            ? -1 : message.attributes.timestamp_type.to_i
        - key
        - value
    doc: A message with its offset and length.
    seq:
      - id: offset
        type: s8
        -default: 0
        doc: |
          Offset of the message; in a wrapper, the offset of the last inner
          message. Not covered by the CRC.
      - id: len_message
        -orig-id: message_size
        type: s4
        valid:
          min: 14
        -derive: length_of(message)
        -column: false
        doc: |
          Length of `message`, in bytes. The smallest message has 14 bytes in
          magic 0, and 22 in magic 1.
      - id: message
        size: len_message
        type: message
        doc: The message itself. It fills `len_message` bytes exactly.
  message:
    doc: A message without its offset.
    doc-ref: >-
      https://github.com/apache/kafka/blob/4.0.0/clients/src/main/java/org/apache/kafka/common/record/LegacyRecord.java
      LegacyRecord
    -roles:
      form: magic
      checksum: crc
      flags: attributes
      codec: attributes.compression
      timestamp_type: attributes.timestamp_type
    seq:
      - id: crc
        type: u4
        -derive: crc32(magic..value)
        -column: false
        doc: |
          CRC-32 (IEEE, as in zlib) of everything after this field, as stored.
      - id: magic
        -orig-id: magic_byte
        type: s1
        valid:
          any-of: [0, 1]
        -default: 1
        -column: false
        doc: |
          Version of the message format. A `record_batch` has it at the same
          place: byte 16 of the entry.
      - id: attributes
        size: 1
        type: message_attributes
        -column: false
        doc: Compression and timestamp type.
      - id: timestamp
        type: s8
        if: magic >= 1
        -default: -1
        -column:
          type: 'timestamp[ms, UTC]'
        doc: |
          Milliseconds since 1970-01-01 UTC; -1 means none. A wrapper has the
          largest timestamp of its inner messages or, if its type is
          `log_append_time`, the time of the append, which is then the timestamp
          of all inner messages. Absent in magic 0.
      - id: len_key
        -orig-id: key_length
        type: s4
        -column: false
        doc: Length of `key`, in bytes. Any negative length means null.
      - id: key
        size: len_key
        if: len_key >= 0
        -nullable: true
        doc: The key, or null; always null in a wrapper. Null and empty differ.
      - id: len_value
        -orig-id: value_length
        type: s4
        valid:
          expr: _ >= 0 or attributes.compression == compression::none
        -column: false
        doc: |
          Length of `value`, in bytes. Any negative length means null, which
          only a message without compression may have.
      - id: value
        size: len_value
        if: len_value >= 0
        -nullable: true
        -codec:
          field: attributes.compression
          replace:
            lz4: lz4_legacy
          when: magic == 0
          type: message_set
        doc: |
          The value, or null. Null and empty differ. If the compression is not
          `none`, the value is a compressed `message_set`.

          In magic 0, the header checksum of an LZ4 frame also covers the
          frame's magic number (KIP-57), so LZ4 libraries reject the frame. This
          is the codec `lz4_legacy`.
  message_attributes:
    doc: Flags of the message and, in a wrapper, of its inner messages.
    seq:
      - id: reserved
        type: b4
        -default: 0
        doc: Not used; ignored.
      - id: timestamp_type
        -orig-id: timestampType
        type: b1
        enum: timestamp_type
        -default: create_time
        doc: |
          Origin of the timestamp. Ignored in magic 0, and in inner messages,
          for which the wrapper's type holds.
      - id: compression
        type: b3
        enum: compression
        -default: none
        doc: |
          Compression of the value. If it is not `none`, the message is a
          wrapper.
enums:
  compression:
    0:
      id: none
      doc: Not compressed; the message is not a wrapper.
    1:
      id: gzip
      doc: gzip (RFC 1952), one or more members.
    2:
      id: snappy
      doc: Snappy, as blocks in xerial's framing or as one raw block.
    3:
      id: lz4
      doc: One LZ4 frame of independent blocks.
  timestamp_type:
    0:
      id: create_time
      -orig-id: CreateTime
      doc: Set by the producer.
    1:
      id: log_append_time
      -orig-id: LogAppendTime
      doc: Set by the broker on append.
