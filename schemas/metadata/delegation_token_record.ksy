meta:
  id: delegation_token_record
  title: Kafka DelegationTokenRecord (record in __cluster_metadata)
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
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-orig-id: DelegationTokenRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 10
doc: >-
  A delegation token was created or renewed. The token's secret is not stored:
  it is derived from the id and the cluster's secret key.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/DelegationTokenRecord.json DelegationTokenRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: owner
    -orig-id: Owner
    type: text(true)
    doc: Principal that the token authenticates, such as `User:alice`.
  - id: requester
    -orig-id: Requester
    type: text(true)
    doc: >-
      Principal that requested the token: the owner, or another principal on the
      owner's behalf.
  - id: num_renewers_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(renewers) + 1
    doc: Number of elements of `renewers`, plus one.
  - id: renewers
    -orig-id: Renewers
    type: text(true)
    repeat: expr
    repeat-expr: num_renewers_plus_one.value - 1
    doc: Principals that may renew the token in addition to its owner.
  - id: issue_timestamp
    -orig-id: IssueTimestamp
    type: s8
    doc: >-
      Time at which the token was created, in milliseconds since 1970-01-01 UTC.
  - id: max_timestamp
    -orig-id: MaxTimestamp
    type: s8
    doc: >-
      Latest time at which the token expires, even if it is renewed, in
      milliseconds since 1970-01-01 UTC.
  - id: expiration_timestamp
    -orig-id: ExpirationTimestamp
    type: s8
    doc: >-
      Time at which the token expires unless it is renewed, in milliseconds
      since 1970-01-01 UTC.
  - id: token_id
    -orig-id: TokenId
    type: text(true)
    doc: Id of the token, which clients send as their user name.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
