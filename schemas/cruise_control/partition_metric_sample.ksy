meta:
  id: partition_metric_sample
  title: Cruise Control sample of a partition's metrics
  application: Cruise Control
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: be
-orig-id: PartitionMetricSample
-versions: 0-1
-flexible: none
-row: true
-topic: __KafkaCruiseControlPartitionMetricSamples
-message:
  kind: cruise-control
  number: 0
doc: |
  Value of a record in which Cruise Control stores a sample of a partition's
  metrics. The record has no key.
doc-ref: https://github.com/linkedin/cruise-control/blob/main/cruise-control/src/main/java/com/linkedin/kafka/cruisecontrol/monitor/sampling/holder/PartitionMetricSample.java PartitionMetricSample
seq:
  - id: version
    type: s1
    valid:
      min: 0
      max: 1
    -column: false
    doc: Version of the value.
  - id: broker_id
    -orig-id: brokerId
    type: s4
    -column:
      type: int32
    doc: Id of the broker.
  - id: cpu_usage
    -orig-id: cpuUsage
    type: f8
    -column:
      type: double
    doc: CPU use.
  - id: disk_usage
    -orig-id: diskUsage
    type: f8
    -column:
      type: double
    doc: Size of the partition on the disk.
  - id: leader_bytes_in
    -orig-id: leaderBytesIn
    type: f8
    -column:
      type: double
    doc: Bytes per second that the leader receives.
  - id: leader_bytes_out
    -orig-id: leaderBytesOut
    type: f8
    -column:
      type: double
    doc: Bytes per second that the leader sends.
  - id: produce_rate
    -orig-id: produceRate
    type: f8
    if: version >= 1
    -since: 1
    -column:
      type: double
    doc: Produce requests per second.
  - id: fetch_rate
    -orig-id: fetchRate
    type: f8
    if: version >= 1
    -since: 1
    -column:
      type: double
    doc: Fetch requests per second.
  - id: message_in_rate
    -orig-id: messageInRate
    type: f8
    if: version >= 1
    -since: 1
    -column:
      type: double
    doc: Records per second that the leader receives.
  - id: replication_bytes_in_rate
    -orig-id: replicationBytesInRate
    type: f8
    if: version >= 1
    -since: 1
    -column:
      type: double
    doc: Bytes per second that replicas receive.
  - id: replication_bytes_out_rate
    -orig-id: replicationBytesOutRate
    type: f8
    if: version >= 1
    -since: 1
    -column:
      type: double
    doc: Bytes per second that replicas are sent.
  - id: sample_time
    -orig-id: sampleTime
    type: s8
    -column:
      type: int64
    doc: When the sample was taken, in milliseconds since 1970-01-01 UTC.
  - id: partition
    -orig-id: partition
    type: s4
    -column:
      type: int32
    doc: Number of the partition.
  - id: topic
    -orig-id: topic
    size-eos: true
    type: str
    -column:
      type: string
    doc: Name of the topic.
