meta:
  id: broker_metric_sample
  title: Cruise Control sample of a broker's metrics
  application: Cruise Control
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: be
-orig-id: BrokerMetricSample
-versions: 4-5
-flexible: none
-row: true
-topic: __KafkaCruiseControlModelTrainingSamples
-message:
  kind: cruise-control
  number: 0
doc: |
  Value of a record in which Cruise Control stores a sample of a broker's
  metrics. The record has no key.
doc-ref: https://github.com/linkedin/cruise-control/blob/main/cruise-control/src/main/java/com/linkedin/kafka/cruisecontrol/monitor/sampling/holder/BrokerMetricSample.java BrokerMetricSample
seq:
  - id: version
    type: s1
    valid:
      min: 4
      max: 5
    -column: false
    doc: Version of the value.
  - id: broker_id
    -orig-id: brokerId
    type: s4
    -column:
      type: int32
    doc: Id of the broker.
  - id: len_host
    type: s2
    valid:
      min: 0
    -derive: length_of(host)
    -column: false
    doc: Length of `host` in bytes.
  - id: host
    -orig-id: host
    size: len_host
    type: str
    -column:
      type: string
    doc: Name of the broker's host.
  - id: cpu_usage
    -orig-id: cpuUsage
    type: f8
    -column:
      type: double
    doc: Cpu usage.
  - id: leader_bytes_in
    -orig-id: leaderBytesIn
    type: f8
    -column:
      type: double
    doc: Leader bytes in.
  - id: leader_bytes_out
    -orig-id: leaderBytesOut
    type: f8
    -column:
      type: double
    doc: Leader bytes out.
  - id: replication_bytes_in_rate
    -orig-id: replicationBytesInRate
    type: f8
    -column:
      type: double
    doc: Replication bytes in rate.
  - id: replication_bytes_out_rate
    -orig-id: replicationBytesOutRate
    type: f8
    -column:
      type: double
    doc: Replication bytes out rate.
  - id: message_in_rate
    -orig-id: messageInRate
    type: f8
    -column:
      type: double
    doc: Message in rate.
  - id: broker_produce_request_rate
    -orig-id: brokerProduceRequestRate
    type: f8
    -column:
      type: double
    doc: Broker produce request rate.
  - id: broker_consumer_fetch_request_rate
    -orig-id: brokerConsumerFetchRequestRate
    type: f8
    -column:
      type: double
    doc: Broker consumer fetch request rate.
  - id: broker_follower_fetch_request_rate
    -orig-id: brokerFollowerFetchRequestRate
    type: f8
    -column:
      type: double
    doc: Broker follower fetch request rate.
  - id: broker_request_handler_pool_idle_percent
    -orig-id: brokerRequestHandlerPoolIdlePercent
    type: f8
    -column:
      type: double
    doc: Broker request handler pool idle percent.
  - id: disk_usage
    -orig-id: diskUsage
    type: f8
    -column:
      type: double
    doc: Disk usage.
  - id: produce_rate
    -orig-id: produceRate
    type: f8
    -column:
      type: double
    doc: Produce rate.
  - id: fetch_rate
    -orig-id: fetchRate
    type: f8
    -column:
      type: double
    doc: Fetch rate.
  - id: sample_time
    -orig-id: sampleTime
    type: s8
    -column:
      type: int64
    doc: When the sample was taken, in milliseconds since 1970-01-01 UTC.
  - id: broker_request_queue_size
    -orig-id: brokerRequestQueueSize
    type: s4
    -column:
      type: int32
    doc: Broker request queue size.
  - id: broker_response_queue_size
    -orig-id: brokerResponseQueueSize
    type: s4
    -column:
      type: int32
    doc: Broker response queue size.
  - id: broker_produce_request_queue_time_ms_max
    -orig-id: brokerProduceRequestQueueTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker produce request queue time (max), in milliseconds.
  - id: broker_produce_request_queue_time_ms_mean
    -orig-id: brokerProduceRequestQueueTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker produce request queue time (mean), in milliseconds.
  - id: broker_consumer_fetch_request_queue_time_ms_max
    -orig-id: brokerConsumerFetchRequestQueueTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker consumer fetch request queue time (max), in milliseconds.
  - id: broker_consumer_fetch_request_queue_time_ms_mean
    -orig-id: brokerConsumerFetchRequestQueueTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker consumer fetch request queue time (mean), in milliseconds.
  - id: broker_follower_fetch_request_queue_time_ms_max
    -orig-id: brokerFollowerFetchRequestQueueTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker follower fetch request queue time (max), in milliseconds.
  - id: broker_follower_fetch_request_queue_time_ms_mean
    -orig-id: brokerFollowerFetchRequestQueueTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker follower fetch request queue time (mean), in milliseconds.
  - id: broker_produce_total_time_ms_max
    -orig-id: brokerProduceTotalTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker produce total time (max), in milliseconds.
  - id: broker_produce_total_time_ms_mean
    -orig-id: brokerProduceTotalTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker produce total time (mean), in milliseconds.
  - id: broker_consumer_fetch_total_time_ms_max
    -orig-id: brokerConsumerFetchTotalTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker consumer fetch total time (max), in milliseconds.
  - id: broker_consumer_fetch_total_time_ms_mean
    -orig-id: brokerConsumerFetchTotalTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker consumer fetch total time (mean), in milliseconds.
  - id: broker_follower_fetch_total_time_ms_max
    -orig-id: brokerFollowerFetchTotalTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker follower fetch total time (max), in milliseconds.
  - id: broker_follower_fetch_total_time_ms_mean
    -orig-id: brokerFollowerFetchTotalTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker follower fetch total time (mean), in milliseconds.
  - id: broker_produce_local_time_ms_max
    -orig-id: brokerProduceLocalTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker produce local time (max), in milliseconds.
  - id: broker_produce_local_time_ms_mean
    -orig-id: brokerProduceLocalTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker produce local time (mean), in milliseconds.
  - id: broker_consumer_fetch_local_time_ms_max
    -orig-id: brokerConsumerFetchLocalTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker consumer fetch local time (max), in milliseconds.
  - id: broker_consumer_fetch_local_time_ms_mean
    -orig-id: brokerConsumerFetchLocalTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker consumer fetch local time (mean), in milliseconds.
  - id: broker_follower_fetch_local_time_ms_max
    -orig-id: brokerFollowerFetchLocalTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker follower fetch local time (max), in milliseconds.
  - id: broker_follower_fetch_local_time_ms_mean
    -orig-id: brokerFollowerFetchLocalTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker follower fetch local time (mean), in milliseconds.
  - id: broker_log_flush_rate
    -orig-id: brokerLogFlushRate
    type: f8
    -column:
      type: double
    doc: Broker log flush rate.
  - id: broker_log_flush_time_ms_max
    -orig-id: brokerLogFlushTimeMsMax
    type: f8
    -column:
      type: double
    doc: Broker log flush time (max), in milliseconds.
  - id: broker_log_flush_time_ms_mean
    -orig-id: brokerLogFlushTimeMsMean
    type: f8
    -column:
      type: double
    doc: Broker log flush time (mean), in milliseconds.
  - id: broker_produce_request_queue_time_ms_50th
    -orig-id: brokerProduceRequestQueueTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker produce request queue time (50th percentile), in milliseconds.
  - id: broker_produce_request_queue_time_ms_999th
    -orig-id: brokerProduceRequestQueueTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker produce request queue time (99.9th percentile), in milliseconds.
  - id: broker_consumer_fetch_request_queue_time_ms_50th
    -orig-id: brokerConsumerFetchRequestQueueTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: |
      Broker consumer fetch request queue time (50th percentile), in
      milliseconds.
  - id: broker_consumer_fetch_request_queue_time_ms_999th
    -orig-id: brokerConsumerFetchRequestQueueTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: |
      Broker consumer fetch request queue time (99.9th percentile), in
      milliseconds.
  - id: broker_follower_fetch_request_queue_time_ms_50th
    -orig-id: brokerFollowerFetchRequestQueueTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: |
      Broker follower fetch request queue time (50th percentile), in
      milliseconds.
  - id: broker_follower_fetch_request_queue_time_ms_999th
    -orig-id: brokerFollowerFetchRequestQueueTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: |
      Broker follower fetch request queue time (99.9th percentile), in
      milliseconds.
  - id: broker_produce_total_time_ms_50th
    -orig-id: brokerProduceTotalTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker produce total time (50th percentile), in milliseconds.
  - id: broker_produce_total_time_ms_999th
    -orig-id: brokerProduceTotalTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker produce total time (99.9th percentile), in milliseconds.
  - id: broker_consumer_fetch_total_time_ms_50th
    -orig-id: brokerConsumerFetchTotalTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker consumer fetch total time (50th percentile), in milliseconds.
  - id: broker_consumer_fetch_total_time_ms_999th
    -orig-id: brokerConsumerFetchTotalTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker consumer fetch total time (99.9th percentile), in milliseconds.
  - id: broker_follower_fetch_total_time_ms_50th
    -orig-id: brokerFollowerFetchTotalTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker follower fetch total time (50th percentile), in milliseconds.
  - id: broker_follower_fetch_total_time_ms_999th
    -orig-id: brokerFollowerFetchTotalTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker follower fetch total time (99.9th percentile), in milliseconds.
  - id: broker_produce_local_time_ms_50th
    -orig-id: brokerProduceLocalTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker produce local time (50th percentile), in milliseconds.
  - id: broker_produce_local_time_ms_999th
    -orig-id: brokerProduceLocalTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker produce local time (99.9th percentile), in milliseconds.
  - id: broker_consumer_fetch_local_time_ms_50th
    -orig-id: brokerConsumerFetchLocalTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker consumer fetch local time (50th percentile), in milliseconds.
  - id: broker_consumer_fetch_local_time_ms_999th
    -orig-id: brokerConsumerFetchLocalTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker consumer fetch local time (99.9th percentile), in milliseconds.
  - id: broker_follower_fetch_local_time_ms_50th
    -orig-id: brokerFollowerFetchLocalTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker follower fetch local time (50th percentile), in milliseconds.
  - id: broker_follower_fetch_local_time_ms_999th
    -orig-id: brokerFollowerFetchLocalTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker follower fetch local time (99.9th percentile), in milliseconds.
  - id: broker_log_flush_time_ms_50th
    -orig-id: brokerLogFlushTimeMs50th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker log flush time (50th percentile), in milliseconds.
  - id: broker_log_flush_time_ms_999th
    -orig-id: brokerLogFlushTimeMs999th
    type: f8
    if: version >= 5
    -since: 5
    -column:
      type: double
    doc: Broker log flush time (99.9th percentile), in milliseconds.
