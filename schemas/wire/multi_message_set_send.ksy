meta:
  id: multi_message_set_send
  title: Kafka MultiMessageSetSend (multi-fetch result of Kafka 0.7)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - message_set_send
  endian: be
doc: |
  Response to a fetch request for several partitions in Kafka 0.7, also
  described in the documentation of later versions: a response for each
  partition, in the order of the request.
doc-ref: https://kafka.apache.org/081/implementation/log Reads
seq:
  - id: len_body
    -orig-id: total length
    type: s4
    valid:
      min: 2
    -derive: length_of(error_code..parts)
    doc: Length of everything after this field, in bytes.
  - id: error_code
    -orig-id: error code
    type: s2
    -default: 0
    doc: Error code; always 0, because each part has its own.
  - id: parts
    size: len_body - 2
    type: part_list
    doc: The responses. May be empty, never null.
types:
  part_list:
    -unwrap: entries
    doc: The responses, one per requested partition.
    seq:
      - id: entries
        type: message_set_send
        repeat: eos
        doc: The response for one partition.
