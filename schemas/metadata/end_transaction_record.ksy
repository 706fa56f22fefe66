meta:
  id: end_transaction_record
  title: Kafka EndTransactionRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/tagged_fields
  endian: be
-orig-id: EndTransactionRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 24
doc: 'Ends the metadata transaction: its records take effect.'
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/EndTransactionRecord.json EndTransactionRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
