meta:
  id: partition_metric_sample
  title: Cruise Control sample of a partition's metrics
  license: Apache-2.0
  encoding: UTF-8
  endian: be
-names: camelCase
-row: true
-message:
  kind: cruise-control
  number: 0
  topic: __KafkaCruiseControlPartitionMetricSamples
  flexible: none
doc: |
  Value of a record in which Cruise Control stores a sample of a partition's
  metrics. The record has no key.
doc-ref: https://github.com/linkedin/cruise-control/blob/main/cruise-control/src/main/java/com/linkedin/kafka/cruisecontrol/monitor/sampling/holder/PartitionMetricSample.java PartitionMetricSample
seq:
  - id: version
    type: s1
    valid: {min: 0, max: 1}
    -column: false
    doc: Version of the value.
  - id: broker_id
    type: s4
    doc: Id of the broker.
  - id: cpu_usage
    type: f8
    doc: CPU use.
  - id: disk_usage
    type: f8
    doc: Size of the partition on the disk.
  - id: leader_bytes_in
    type: f8
    doc: Bytes per second that the leader receives.
  - id: leader_bytes_out
    type: f8
    doc: Bytes per second that the leader sends.
  - id: produce_rate
    type: f8
    if: version >= 1
    doc: Produce requests per second.
  - id: fetch_rate
    type: f8
    if: version >= 1
    doc: Fetch requests per second.
  - id: message_in_rate
    type: f8
    if: version >= 1
    doc: Records per second that the leader receives.
  - id: replication_bytes_in_rate
    type: f8
    if: version >= 1
    doc: Bytes per second that replicas receive.
  - id: replication_bytes_out_rate
    type: f8
    if: version >= 1
    doc: Bytes per second that replicas are sent.
  - id: sample_time
    type: s8
    doc: When the sample was taken, in milliseconds since 1970-01-01 UTC.
  - id: partition
    type: s4
    doc: Number of the partition.
  - id: topic
    size-eos: true
    type: str
    doc: Name of the topic.
