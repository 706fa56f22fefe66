meta:
  id: user_scram_credential_record
  title: Kafka UserScramCredentialRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/blob
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-orig-id: UserScramCredentialRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 11
doc: >-
  Kafka's UserScramCredentialRecord: record in __cluster_metadata, number 11 of
  its kind; version 0, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UserScramCredentialRecord.json UserScramCredentialRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: name
    -orig-id: Name
    type: text(true)
    doc: A string.
  - id: mechanism
    -orig-id: Mechanism
    type: s1
    doc: An int8.
  - id: salt
    -orig-id: Salt
    type: blob(true)
    doc: Bytes.
  - id: stored_key
    -orig-id: StoredKey
    type: blob(true)
    doc: Bytes.
  - id: server_key
    -orig-id: ServerKey
    type: blob(true)
    doc: Bytes.
  - id: iterations
    -orig-id: Iterations
    type: s4
    doc: An int32.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
