meta:
  id: voters_record
  title: Kafka VotersRecord (value of a control record)
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
    - ../primitives/uuid
  endian: be
-orig-id: VotersRecord
-versions: 0
-flexible: 0+
doc: |
  Value of the control record that lists the voters of the KRaft quorum
  (KIP-853).
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/VotersRecord.json VotersRecord
seq:
  - id: version
    -orig-id: Version
    type: s2
    valid:
      min: 0
      max: 0
    -default: 0
    doc: Version of the message. Kafka always reads the value as version 0.
  - id: num_voters_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(voters) + 1
    doc: Number of voters, plus one. 0 would mean null.
  - id: voters
    -orig-id: Voters
    type: voter
    repeat: expr
    repeat-expr: num_voters_plus_one.value - 1
    doc: All voters of the quorum. May be empty, never null.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  voter:
    -orig-id: Voter
    doc: A voter of the quorum.
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
        doc: Node ID of the voter.
      - id: voter_directory_id
        -orig-id: VoterDirectoryId
        type: uuid
        doc: Directory ID of the voter; all zeros means unknown.
      - id: num_endpoints_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(endpoints) + 1
        doc: Number of endpoints, plus one. 0 would mean null.
      - id: endpoints
        -orig-id: Endpoints
        type: endpoint
        repeat: expr
        repeat-expr: num_endpoints_plus_one.value - 1
        doc: Addresses of the voter, one per listener. May be empty, never null.
      - id: kraft_version_feature
        -orig-id: KRaftVersionFeature
        type: kraft_version_feature
        doc: Levels of the feature `kraft.version` that the voter supports.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  endpoint:
    -orig-id: Endpoint
    doc: An address of a voter.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: Name of the listener. Never null.
      - id: host
        -orig-id: Host
        type: text(true)
        doc: Host name or address. Never null.
      - id: port
        -orig-id: Port
        type: u2
        doc: TCP port.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  kraft_version_feature:
    -orig-id: KRaftVersionFeature
    doc: A range of levels of the feature `kraft.version`.
    seq:
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
        doc: Lowest supported level.
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
        doc: Highest supported level.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
