meta:
  id: end_txn_marker
  title: Kafka EndTxnMarker (value of a control record)
  license: Apache-2.0
  endian: be
doc: |
  Value of the control record that ends a transaction (KIP-98). The record's key
  determines whether the transaction is committed or aborted; the batch header
  identifies the producer. Kafka ignores bytes after these six.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/EndTxnMarker.json EndTxnMarker
seq:
  - id: version
    type: s2
    valid: {min: 0}
    -default: 0
    doc: |
      Version of the value. Only 0 has been used; Kafka reads any higher version
      as 0.
  - id: coordinator_epoch
    -orig-id: CoordinatorEpoch
    type: s4
    doc: Epoch of the transaction coordinator that wrote the marker.
