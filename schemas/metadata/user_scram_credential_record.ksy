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
  A SCRAM credential of a user (RFC 5802) was set. It does not contain the
  password.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UserScramCredentialRecord.json UserScramCredentialRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: name
    -orig-id: Name
    type: text(true)
    doc: Name of the user.
  - id: mechanism
    -orig-id: Mechanism
    type: s1
    doc: 'Mechanism: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.'
  - id: salt
    -orig-id: Salt
    type: blob(true)
    doc: Random bytes that were hashed with the password.
  - id: stored_key
    -orig-id: StoredKey
    type: blob(true)
    doc: >-
      Hash of the client key, with which the broker verifies the client's proof.
  - id: server_key
    -orig-id: ServerKey
    type: blob(true)
    doc: >-
      Server key, with which the broker proves to the client that it knows the
      credential.
  - id: iterations
    -orig-id: Iterations
    type: s4
    doc: Number of hash iterations, 4096 to 16384.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
