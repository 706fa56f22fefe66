meta:
  id: transaction_index
  title: Kafka log segment index of aborted transactions
  application: Apache Kafka
  file-extension: txnindex
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  The transactions (KIP-98) whose abort markers are in the segment, in the order
  of the markers. A reader with isolation level `read_committed` drops the
  records of each producer between the two offsets. The index and the segment
  are named after the segment's base offset.

  The file is not padded with zeros. Kafka ignores an incomplete entry at its
  end.
doc-ref: >-
  https://github.com/apache/kafka/blob/4.0.0/storage/src/main/java/org/apache/kafka/storage/internals/log/TransactionIndex.java
  TransactionIndex
seq:
  - id: entries
    type: entry
    repeat: eos
    doc: The entries, 34 bytes each.
types:
  entry:
    -row: true
    doc: One aborted transaction.
    doc-ref: >-
      https://github.com/apache/kafka/blob/4.0.0/storage/src/main/java/org/apache/kafka/storage/internals/log/AbortedTxn.java
      AbortedTxn
    seq:
      - id: version
        type: s2
        valid: 0
        -default: 0
        -column: false
        doc: Version of the entry format.
      - id: producer_id
        -orig-id: ProducerId
        type: s8
        doc: Id of the producer whose transaction was aborted.
      - id: first_offset
        -orig-id: FirstOffset
        type: s8
        doc: |
          Offset of the transaction's first record, which may be in an earlier
          segment.
      - id: last_offset
        -orig-id: LastOffset
        type: s8
        doc: Offset of the abort marker.
      - id: last_stable_offset
        -orig-id: LastStableOffset
        type: s8
        doc: |
          Last stable offset when the marker was written: the first offset of
          the oldest transaction that was still open, otherwise `last_offset +
          1`.
