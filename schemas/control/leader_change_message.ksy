meta:
  id: leader_change_message
  title: Kafka LeaderChangeMessage (value of a control record)
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
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: LeaderChangeMessage
-versions: 0-1
-flexible: 0+
doc: |
  Value of the control record that a newly elected KRaft leader writes first
  (KIP-595). All versions are flexible. The version is the first field of the
  message itself, not a prefix.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/LeaderChangeMessage.json LeaderChangeMessage
seq:
  - id: version
    -orig-id: Version
    type: s2
    valid:
      min: 0
      max: 1
    -default: 0
    doc: |
      Version of the message. Version 1 adds directory IDs (KIP-853); Kafka
      still writes 0.
  - id: leader_id
    -orig-id: LeaderId
    type: s4
    doc: Node ID of the newly elected leader.
  - id: num_voters_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(voters) + 1
    doc: Number of voters, plus one. 0 would mean null.
  - id: voters
    -orig-id: Voters
    type: voter(version)
    repeat: expr
    repeat-expr: num_voters_plus_one.value - 1
    doc: The voters of the quorum in this epoch. May be empty, never null.
  - id: num_granting_voters_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(granting_voters) + 1
    doc: Number of granting voters, plus one. 0 would mean null.
  - id: granting_voters
    -orig-id: GrantingVoters
    type: voter(version)
    repeat: expr
    repeat-expr: num_granting_voters_plus_one.value - 1
    doc: |
      The voters that voted for the leader. May be empty, never null.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  voter:
    -orig-id: Voter
    -versions: 0-1
    doc: A voter of the quorum.
    params:
      - id: version
        type: s2
        doc: Version of the message.
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
        doc: Node ID of the voter.
      - id: voter_directory_id
        -orig-id: VoterDirectoryId
        type: uuid
        if: version >= 1
        -since: 1
        doc: |
          Directory ID of the voter; all zeros means unknown. Absent before
          version 1.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
