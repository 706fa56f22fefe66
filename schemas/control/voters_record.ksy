meta:
  id: voters_record
  title: Kafka VotersRecord (value of a control record)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/uuid
  endian: be
-names: PascalCase
-message: {flexible: 0+}
doc: |
  Value of the control record that lists the voters of the KRaft quorum
  (KIP-853).
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/VotersRecord.json VotersRecord
seq:
  - id: version
    -orig-id: Version
    type: s2
    valid: {min: 0, max: 0}
    -default: 0
    doc: Version of the message. Kafka always reads the value as version 0.
  - {id: num_voters, type: count(true)}
  - id: voters
    type: voter
    repeat: expr
    repeat-expr: num_voters.value
    doc: All voters of the quorum. May be empty, never null.
  - {id: tagged_fields, type: tagged_fields}
types:
  voter:
    doc: A voter of the quorum.
    seq:
      - id: voter_id
        type: s4
        doc: Node ID of the voter.
      - id: voter_directory_id
        type: uuid
        doc: Directory ID of the voter; all zeros means unknown.
      - {id: num_endpoints, type: count(true)}
      - id: endpoints
        type: endpoint
        repeat: expr
        repeat-expr: num_endpoints.value
        doc: Addresses of the voter, one per listener. May be empty, never null.
      - id: kraft_version_feature
        -orig-id: KRaftVersionFeature
        type: kraft_version_feature
        doc: Levels of the feature `kraft.version` that the voter supports.
      - {id: tagged_fields, type: tagged_fields}
  endpoint:
    doc: An address of a voter.
    seq:
      - id: name
        type: text(true)
        doc: Name of the listener. Never null.
      - id: host
        type: text(true)
        doc: Host name or address. Never null.
      - id: port
        type: u2
        doc: TCP port.
      - {id: tagged_fields, type: tagged_fields}
  kraft_version_feature:
    -orig-id: KRaftVersionFeature
    doc: A range of levels of the feature `kraft.version`.
    seq:
      - id: min_supported_version
        type: s2
        doc: Lowest supported level.
      - id: max_supported_version
        type: s2
        doc: Highest supported level.
      - {id: tagged_fields, type: tagged_fields}
