meta:
  id: producer_snapshot
  title: Kafka producer state snapshot
  application: Apache Kafka
  file-extension: snapshot
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
-names:
  fields: PascalCase
doc: |
  State of the idempotent and transactional producers (KIP-98) of a partition at
  the offset that names the file. The broker writes it when it rolls a segment
  and when it shuts down. Kafka deletes a snapshot that it cannot read or whose
  CRC is wrong, and uses an older one.
doc-ref: >-
  https://github.com/apache/kafka/blob/4.0.0/storage/src/main/java/org/apache/kafka/storage/internals/log/ProducerStateManager.java
  ProducerStateManager
seq:
  - id: version
    type: s2
    valid: 1
    -default: 1
    doc: Version of the file format. Only 1 has been used.
  - id: crc
    -orig-id: Crc
    type: u4
    -derive: crc32c(num_entries..entries)
    doc: CRC-32C (Castagnoli) of everything after this field.
  - id: num_entries
    type: s4
    valid:
      min: 0
    -derive: count_of(entries)
    doc: Number of entries.
  - id: entries
    -orig-id: ProducerEntries
    type: entry
    repeat: expr
    repeat-expr: num_entries
    doc: The producers, 46 bytes each, in no particular order.
types:
  entry:
    -row: true
    doc: |
      One producer. If only a transaction marker of it is known, the fields
      about its last batch are -1 (`offset_delta` is 0).
    seq:
      - id: producer_id
        type: s8
        doc: Id of the producer.
      - id: producer_epoch
        -orig-id: Epoch
        type: s2
        doc: Current epoch of the producer.
      - id: last_sequence
        type: s4
        -default: -1
        doc: Sequence number of its last record; -1 means none.
      - id: last_offset
        type: s8
        -default: -1
        doc: Offset of its last record; -1 means none.
      - id: offset_delta
        type: s4
        -default: 0
        doc: |
          Last offset of its last batch, minus the first offset of that batch.
      - id: timestamp
        type: s8
        -default: -1
        -column:
          type: timestamp[ms]
        doc: |
          Largest timestamp of its last batch, in milliseconds since 1970-01-01
          UTC; -1 means none.
      - id: coordinator_epoch
        type: s4
        -default: -1
        doc: |
          Epoch of the transaction coordinator that wrote its last marker; -1
          means none.
      - id: current_txn_first_offset
        type: s8
        -default: -1
        doc: First offset of its open transaction; -1 means none.
