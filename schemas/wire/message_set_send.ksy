meta:
  id: message_set_send
  title: Kafka MessageSetSend (fetch result of Kafka 0.7)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Response to a fetch request for one partition in Kafka 0.7. The documentation
  of later versions still describes it, but those versions send the fetch
  responses of the protocol guide.
doc-ref: https://kafka.apache.org/081/implementation/log Reads
seq:
  - id: len_body
    -orig-id: total length
    type: s4
    valid:
      min: 2
    -derive: length_of(error_code..messages)
    doc: Length of everything after this field, in bytes.
  - id: error_code
    -orig-id: error code
    type: s2
    -default: 0
    doc: Error code; 0 means success, and the messages follow.
  - id: messages
    size: len_body - 2
    doc: |
      A message set, as bytes, because the broker limits the number of bytes and
      may cut the last entry short. May be empty, never null. The entries are
      those of a `message_set`, except in Kafka 0.7 itself, whose entries are a
      4-byte length and a message without key and offset.
