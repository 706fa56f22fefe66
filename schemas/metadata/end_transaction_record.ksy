meta:
  id: end_transaction_record
  title: Kafka EndTransactionRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: camelCase
-versions: 0
-message: {kind: metadata, number: 24, topic: __cluster_metadata, flexible: 0+}
doc: 'Ends the metadata transaction: its records take effect.'
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/EndTransactionRecord.json EndTransactionRecord
params:
  - {id: version, type: s2}
seq:
  - {id: tagged_fields, type: tagged_fields}
