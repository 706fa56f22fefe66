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
  documentation still tells it. Later versions send fetch responses of the
  protocol guide.
doc-ref: https://kafka.apache.org/documentation/#impl_reads Reads
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
      A message set whose last entry may be cut short, as the broker sends so
      many bytes of its log and not so many messages. Therefore kept as bytes;
      the whole entries are those of a `message_set`, or, from a broker of 0.7
      itself, of that version's own format, where an entry is a 4-byte length
      and a message without key and offset. May be empty, never null.
