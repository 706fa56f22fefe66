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
  Answer to a fetch request for one partition, as Kafka 0.7 sent it and the
  documentation of later versions still told it. Those versions send the fetch
  responses of the protocol guide instead.
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
    doc: 0 is success; then the messages follow.
  - id: messages
    size: len_body - 2
    doc: |
      A message set whose last entry may be cut short, since the broker sends
      a number of bytes and not of messages; therefore kept as bytes. May be
      empty, never null. The entries are those of a `message_set`; those of
      Kafka 0.7 itself have a format of their own, a 4-byte length and then a
      message without key and offset.
