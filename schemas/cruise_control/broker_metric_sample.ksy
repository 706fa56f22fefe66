meta:
  id: broker_metric_sample
  title: Cruise Control sample of a broker's metrics
  license: Apache-2.0
  encoding: UTF-8
  endian: be
-names: camelCase
-row: true
-message:
  kind: cruise-control
  number: 0
  topic: __KafkaCruiseControlModelTrainingSamples
  flexible: none
doc: |
  Value of a record in which Cruise Control stores a sample of a broker's
  metrics. The record has no key.
doc-ref: https://github.com/linkedin/cruise-control/blob/main/cruise-control/src/main/java/com/linkedin/kafka/cruisecontrol/monitor/sampling/holder/BrokerMetricSample.java BrokerMetricSample
seq:
  - id: version
    type: s1
    valid: {min: 4, max: 5}
    -column: false
    doc: Version of the value.
  - id: broker_id
    type: s4
    doc: Id of the broker.
  - id: len_host
    type: s2
    valid: {min: 0}
    -derive: length_of(host)
    -column: false
    doc: Length of `host` in bytes.
  - id: host
    size: len_host
    type: str
    doc: Name of the broker's host.
  - id: cpu_usage
    type: f8
    doc: Cpu usage.
  - id: leader_bytes_in
    type: f8
    doc: Leader bytes in.
  - id: leader_bytes_out
    type: f8
    doc: Leader bytes out.
  - id: replication_bytes_in_rate
    type: f8
    doc: Replication bytes in rate.
  - id: replication_bytes_out_rate
    type: f8
    doc: Replication bytes out rate.
  - id: message_in_rate
    type: f8
    doc: Message in rate.
  - id: broker_produce_request_rate
    type: f8
    doc: Broker produce request rate.
  - id: broker_consumer_fetch_request_rate
    type: f8
    doc: Broker consumer fetch request rate.
  - id: broker_follower_fetch_request_rate
    type: f8
    doc: Broker follower fetch request rate.
  - id: broker_request_handler_pool_idle_percent
    type: f8
    doc: Broker request handler pool idle percent.
  - id: disk_usage
    type: f8
    doc: Disk usage.
  - id: produce_rate
    type: f8
    doc: Produce rate.
  - id: fetch_rate
    type: f8
    doc: Fetch rate.
  - id: sample_time
    type: s8
    doc: When the sample was taken, in milliseconds since 1970-01-01 UTC.
  - id: broker_request_queue_size
    type: s4
    doc: Broker request queue size.
  - id: broker_response_queue_size
    type: s4
    doc: Broker response queue size.
  - id: broker_produce_request_queue_time_ms_max
    type: f8
    doc: Broker produce request queue time (max), in milliseconds.
  - id: broker_produce_request_queue_time_ms_mean
    type: f8
    doc: Broker produce request queue time (mean), in milliseconds.
  - id: broker_consumer_fetch_request_queue_time_ms_max
    type: f8
    doc: Broker consumer fetch request queue time (max), in milliseconds.
  - id: broker_consumer_fetch_request_queue_time_ms_mean
    type: f8
    doc: Broker consumer fetch request queue time (mean), in milliseconds.
  - id: broker_follower_fetch_request_queue_time_ms_max
    type: f8
    doc: Broker follower fetch request queue time (max), in milliseconds.
  - id: broker_follower_fetch_request_queue_time_ms_mean
    type: f8
    doc: Broker follower fetch request queue time (mean), in milliseconds.
  - id: broker_produce_total_time_ms_max
    type: f8
    doc: Broker produce total time (max), in milliseconds.
  - id: broker_produce_total_time_ms_mean
    type: f8
    doc: Broker produce total time (mean), in milliseconds.
  - id: broker_consumer_fetch_total_time_ms_max
    type: f8
    doc: Broker consumer fetch total time (max), in milliseconds.
  - id: broker_consumer_fetch_total_time_ms_mean
    type: f8
    doc: Broker consumer fetch total time (mean), in milliseconds.
  - id: broker_follower_fetch_total_time_ms_max
    type: f8
    doc: Broker follower fetch total time (max), in milliseconds.
  - id: broker_follower_fetch_total_time_ms_mean
    type: f8
    doc: Broker follower fetch total time (mean), in milliseconds.
  - id: broker_produce_local_time_ms_max
    type: f8
    doc: Broker produce local time (max), in milliseconds.
  - id: broker_produce_local_time_ms_mean
    type: f8
    doc: Broker produce local time (mean), in milliseconds.
  - id: broker_consumer_fetch_local_time_ms_max
    type: f8
    doc: Broker consumer fetch local time (max), in milliseconds.
  - id: broker_consumer_fetch_local_time_ms_mean
    type: f8
    doc: Broker consumer fetch local time (mean), in milliseconds.
  - id: broker_follower_fetch_local_time_ms_max
    type: f8
    doc: Broker follower fetch local time (max), in milliseconds.
  - id: broker_follower_fetch_local_time_ms_mean
    type: f8
    doc: Broker follower fetch local time (mean), in milliseconds.
  - id: broker_log_flush_rate
    type: f8
    doc: Broker log flush rate.
  - id: broker_log_flush_time_ms_max
    type: f8
    doc: Broker log flush time (max), in milliseconds.
  - id: broker_log_flush_time_ms_mean
    type: f8
    doc: Broker log flush time (mean), in milliseconds.
  - id: broker_produce_request_queue_time_ms_50th
    type: f8
    if: version >= 5
    doc: Broker produce request queue time (50th percentile), in milliseconds.
  - id: broker_produce_request_queue_time_ms_999th
    type: f8
    if: version >= 5
    doc: Broker produce request queue time (99.9th percentile), in milliseconds.
  - id: broker_consumer_fetch_request_queue_time_ms_50th
    type: f8
    if: version >= 5
    doc: |
      Broker consumer fetch request queue time (50th percentile), in
      milliseconds.
  - id: broker_consumer_fetch_request_queue_time_ms_999th
    type: f8
    if: version >= 5
    doc: |
      Broker consumer fetch request queue time (99.9th percentile), in
      milliseconds.
  - id: broker_follower_fetch_request_queue_time_ms_50th
    type: f8
    if: version >= 5
    doc: |
      Broker follower fetch request queue time (50th percentile), in
      milliseconds.
  - id: broker_follower_fetch_request_queue_time_ms_999th
    type: f8
    if: version >= 5
    doc: |
      Broker follower fetch request queue time (99.9th percentile), in
      milliseconds.
  - id: broker_produce_total_time_ms_50th
    type: f8
    if: version >= 5
    doc: Broker produce total time (50th percentile), in milliseconds.
  - id: broker_produce_total_time_ms_999th
    type: f8
    if: version >= 5
    doc: Broker produce total time (99.9th percentile), in milliseconds.
  - id: broker_consumer_fetch_total_time_ms_50th
    type: f8
    if: version >= 5
    doc: Broker consumer fetch total time (50th percentile), in milliseconds.
  - id: broker_consumer_fetch_total_time_ms_999th
    type: f8
    if: version >= 5
    doc: Broker consumer fetch total time (99.9th percentile), in milliseconds.
  - id: broker_follower_fetch_total_time_ms_50th
    type: f8
    if: version >= 5
    doc: Broker follower fetch total time (50th percentile), in milliseconds.
  - id: broker_follower_fetch_total_time_ms_999th
    type: f8
    if: version >= 5
    doc: Broker follower fetch total time (99.9th percentile), in milliseconds.
  - id: broker_produce_local_time_ms_50th
    type: f8
    if: version >= 5
    doc: Broker produce local time (50th percentile), in milliseconds.
  - id: broker_produce_local_time_ms_999th
    type: f8
    if: version >= 5
    doc: Broker produce local time (99.9th percentile), in milliseconds.
  - id: broker_consumer_fetch_local_time_ms_50th
    type: f8
    if: version >= 5
    doc: Broker consumer fetch local time (50th percentile), in milliseconds.
  - id: broker_consumer_fetch_local_time_ms_999th
    type: f8
    if: version >= 5
    doc: Broker consumer fetch local time (99.9th percentile), in milliseconds.
  - id: broker_follower_fetch_local_time_ms_50th
    type: f8
    if: version >= 5
    doc: Broker follower fetch local time (50th percentile), in milliseconds.
  - id: broker_follower_fetch_local_time_ms_999th
    type: f8
    if: version >= 5
    doc: Broker follower fetch local time (99.9th percentile), in milliseconds.
  - id: broker_log_flush_time_ms_50th
    type: f8
    if: version >= 5
    doc: Broker log flush time (50th percentile), in milliseconds.
  - id: broker_log_flush_time_ms_999th
    type: f8
    if: version >= 5
    doc: Broker log flush time (99.9th percentile), in milliseconds.
