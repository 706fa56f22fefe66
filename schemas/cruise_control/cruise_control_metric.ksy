meta:
  id: cruise_control_metric
  title: Cruise Control metric of a broker, topic or partition
  license: Apache-2.0
  encoding: UTF-8
  endian: be
-names: camelCase
-row: true
-message: {kind: cruise-control, number: 0, topic: __CruiseControlMetrics}
doc: |
  Value of a record that Cruise Control's reporter in a broker writes. The key
  is the name of the topic for metrics of topics, and the id of the broker for
  others.
doc-ref: https://github.com/linkedin/cruise-control/blob/main/cruise-control-metrics-reporter/src/main/java/com/linkedin/kafka/cruisecontrol/metricsreporter/metric/MetricSerde.java MetricSerde
seq:
  - id: metric_class
    type: u1
    enum: metric_class
    -valid: {max: 2}
    -column: false
    doc: What the metric belongs to.
  - id: version
    type: u1
    valid: 0
    -default: 0
    -column: false
    doc: Version of the value.
  - id: metric_type
    type: u1
    enum: raw_metric_type
    -column: false
    doc: What is measured.
  - id: time
    type: s8
    doc: When it was measured, in milliseconds since 1970-01-01 UTC.
  - id: broker_id
    type: s4
    doc: Id of the broker.
  - id: len_topic
    type: s4
    valid: {min: 0}
    if: metric_class != metric_class::broker_metric
    -derive: length_of(topic)
    -column: false
    doc: Length of `topic` in bytes.
  - id: topic
    size: len_topic
    type: str
    if: metric_class != metric_class::broker_metric
    -column: false
    doc: Name of the topic; empty in metrics of brokers.
  - id: partition
    type: s4
    if: metric_class == metric_class::partition_metric
    -default: -1
    -column: false
    doc: Number of the partition; -1 in other metrics.
  - id: value
    type: f8
    doc: The measured value.
enums:
  metric_class:
    0:
      id: broker_metric
      doc: Metric of a broker.
    1:
      id: topic_metric
      doc: Metric of a topic on a broker.
    2:
      id: partition_metric
      doc: Metric of a partition on a broker.
  raw_metric_type:
    0:
      id: all_topic_bytes_in
      doc: All topic bytes in.
    1:
      id: all_topic_bytes_out
      doc: All topic bytes out.
    2:
      id: topic_bytes_in
      doc: Topic bytes in.
    3:
      id: topic_bytes_out
      doc: Topic bytes out.
    4:
      id: partition_size
      doc: Partition size.
    5:
      id: broker_cpu_util
      doc: Broker CPU use.
    6:
      id: all_topic_replication_bytes_in
      doc: All topic replication bytes in.
    7:
      id: all_topic_replication_bytes_out
      doc: All topic replication bytes out.
    8:
      id: all_topic_produce_request_rate
      doc: All topic produce request rate.
    9:
      id: all_topic_fetch_request_rate
      doc: All topic fetch request rate.
    10:
      id: all_topic_messages_in_per_sec
      doc: All topic messages in per sec.
    11:
      id: topic_replication_bytes_in
      doc: Topic replication bytes in.
    12:
      id: topic_replication_bytes_out
      doc: Topic replication bytes out.
    13:
      id: topic_produce_request_rate
      doc: Topic produce request rate.
    14:
      id: topic_fetch_request_rate
      doc: Topic fetch request rate.
    15:
      id: topic_messages_in_per_sec
      doc: Topic messages in per sec.
    16:
      id: broker_produce_request_rate
      doc: Broker produce request rate.
    17:
      id: broker_consumer_fetch_request_rate
      doc: Broker consumer fetch request rate.
    18:
      id: broker_follower_fetch_request_rate
      doc: Broker follower fetch request rate.
    19:
      id: broker_request_handler_avg_idle_percent
      doc: Broker request handler avg idle percent.
    20:
      id: broker_request_queue_size
      doc: Broker request queue size.
    21:
      id: broker_response_queue_size
      doc: Broker response queue size.
    22:
      id: broker_produce_request_queue_time_ms_max
      doc: Broker produce request queue time (max), in milliseconds.
    23:
      id: broker_produce_request_queue_time_ms_mean
      doc: Broker produce request queue time (mean), in milliseconds.
    24:
      id: broker_consumer_fetch_request_queue_time_ms_max
      doc: Broker consumer fetch request queue time (max), in milliseconds.
    25:
      id: broker_consumer_fetch_request_queue_time_ms_mean
      doc: Broker consumer fetch request queue time (mean), in milliseconds.
    26:
      id: broker_follower_fetch_request_queue_time_ms_max
      doc: Broker follower fetch request queue time (max), in milliseconds.
    27:
      id: broker_follower_fetch_request_queue_time_ms_mean
      doc: Broker follower fetch request queue time (mean), in milliseconds.
    28:
      id: broker_produce_total_time_ms_max
      doc: Broker produce total time (max), in milliseconds.
    29:
      id: broker_produce_total_time_ms_mean
      doc: Broker produce total time (mean), in milliseconds.
    30:
      id: broker_consumer_fetch_total_time_ms_max
      doc: Broker consumer fetch total time (max), in milliseconds.
    31:
      id: broker_consumer_fetch_total_time_ms_mean
      doc: Broker consumer fetch total time (mean), in milliseconds.
    32:
      id: broker_follower_fetch_total_time_ms_max
      doc: Broker follower fetch total time (max), in milliseconds.
    33:
      id: broker_follower_fetch_total_time_ms_mean
      doc: Broker follower fetch total time (mean), in milliseconds.
    34:
      id: broker_produce_local_time_ms_max
      doc: Broker produce local time (max), in milliseconds.
    35:
      id: broker_produce_local_time_ms_mean
      doc: Broker produce local time (mean), in milliseconds.
    36:
      id: broker_consumer_fetch_local_time_ms_max
      doc: Broker consumer fetch local time (max), in milliseconds.
    37:
      id: broker_consumer_fetch_local_time_ms_mean
      doc: Broker consumer fetch local time (mean), in milliseconds.
    38:
      id: broker_follower_fetch_local_time_ms_max
      doc: Broker follower fetch local time (max), in milliseconds.
    39:
      id: broker_follower_fetch_local_time_ms_mean
      doc: Broker follower fetch local time (mean), in milliseconds.
    40:
      id: broker_log_flush_rate
      doc: Broker log flush rate.
    41:
      id: broker_log_flush_time_ms_max
      doc: Broker log flush time (max), in milliseconds.
    42:
      id: broker_log_flush_time_ms_mean
      doc: Broker log flush time (mean), in milliseconds.
    43:
      id: broker_produce_request_queue_time_ms_50th
      doc: Broker produce request queue time (50th percentile), in milliseconds.
    44:
      id: broker_produce_request_queue_time_ms_999th
      doc: |
        Broker produce request queue time (99.9th percentile), in milliseconds.
    45:
      id: broker_consumer_fetch_request_queue_time_ms_50th
      doc: |
        Broker consumer fetch request queue time (50th percentile), in
        milliseconds.
    46:
      id: broker_consumer_fetch_request_queue_time_ms_999th
      doc: |
        Broker consumer fetch request queue time (99.9th percentile), in
        milliseconds.
    47:
      id: broker_follower_fetch_request_queue_time_ms_50th
      doc: |
        Broker follower fetch request queue time (50th percentile), in
        milliseconds.
    48:
      id: broker_follower_fetch_request_queue_time_ms_999th
      doc: |
        Broker follower fetch request queue time (99.9th percentile), in
        milliseconds.
    49:
      id: broker_produce_total_time_ms_50th
      doc: Broker produce total time (50th percentile), in milliseconds.
    50:
      id: broker_produce_total_time_ms_999th
      doc: Broker produce total time (99.9th percentile), in milliseconds.
    51:
      id: broker_consumer_fetch_total_time_ms_50th
      doc: Broker consumer fetch total time (50th percentile), in milliseconds.
    52:
      id: broker_consumer_fetch_total_time_ms_999th
      doc: |
        Broker consumer fetch total time (99.9th percentile), in milliseconds.
    53:
      id: broker_follower_fetch_total_time_ms_50th
      doc: Broker follower fetch total time (50th percentile), in milliseconds.
    54:
      id: broker_follower_fetch_total_time_ms_999th
      doc: |
        Broker follower fetch total time (99.9th percentile), in milliseconds.
    55:
      id: broker_produce_local_time_ms_50th
      doc: Broker produce local time (50th percentile), in milliseconds.
    56:
      id: broker_produce_local_time_ms_999th
      doc: Broker produce local time (99.9th percentile), in milliseconds.
    57:
      id: broker_consumer_fetch_local_time_ms_50th
      doc: Broker consumer fetch local time (50th percentile), in milliseconds.
    58:
      id: broker_consumer_fetch_local_time_ms_999th
      doc: |
        Broker consumer fetch local time (99.9th percentile), in milliseconds.
    59:
      id: broker_follower_fetch_local_time_ms_50th
      doc: Broker follower fetch local time (50th percentile), in milliseconds.
    60:
      id: broker_follower_fetch_local_time_ms_999th
      doc: |
        Broker follower fetch local time (99.9th percentile), in milliseconds.
    61:
      id: broker_log_flush_time_ms_50th
      doc: Broker log flush time (50th percentile), in milliseconds.
    62:
      id: broker_log_flush_time_ms_999th
      doc: Broker log flush time (99.9th percentile), in milliseconds.
