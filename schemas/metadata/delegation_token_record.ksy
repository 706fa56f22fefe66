meta:
  id: delegation_token_record
  title: Kafka DelegationTokenRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 10, topic: __cluster_metadata, flexible: 0+}
doc: >-
  A delegation token was created or renewed. The token's secret is not stored:
  it is derived from the id and the cluster's secret key.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/DelegationTokenRecord.json DelegationTokenRecord
params:
  - {id: version, type: s2}
seq:
  - id: owner
    type: text(true)
    doc: Principal that the token authenticates, such as `User:alice`.
  - id: requester
    type: text(true)
    doc: >-
      Principal that requested the token: the owner, or another principal on the
      owner's behalf.
  - {id: num_renewers, type: count(true)}
  - id: renewers
    type: text(true)
    repeat: expr
    repeat-expr: num_renewers.value
    doc: Principals that may renew the token in addition to its owner.
  - id: issue_timestamp
    type: s8
    doc: >-
      Time at which the token was created, in milliseconds since 1970-01-01 UTC.
  - id: max_timestamp
    type: s8
    doc: >-
      Latest time at which the token expires, even if it is renewed, in
      milliseconds since 1970-01-01 UTC.
  - id: expiration_timestamp
    type: s8
    doc: >-
      Time at which the token expires unless it is renewed, in milliseconds
      since 1970-01-01 UTC.
  - id: token_id
    type: text(true)
    doc: Id of the token, which clients send as their user name.
  - {id: tagged_fields, type: tagged_fields}
