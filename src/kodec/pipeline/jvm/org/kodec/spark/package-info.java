/**
 * The Spark data source {@code kafka-log} in the JVM: Kafka's log files as columns, by the generated readers.
 *
 * <p>A class uses those of its own layer, and of the layers before it:
 *
 * <pre>
 * files: Cause DataLossException Files Globs Names NeedsPythonSource Pages Tiered UnreachableException
 * batches: Batch CompressedContent Control Frame ReadSettings WrongBatch
 * segments: Gaps OffsetOrder Segment SegmentSlice Start TornTail Transactions Window
 * rows: Batches Losses Metrics RowBuffers SegmentEnd Siblings SliceWalk Step Wanted
 * columns: Columns
 * planning: OptionTable Options Planner RemoteSegments Replica TopicLog
 * source: AggregateReader DriverLog ErrorTranslatingReader KafkaLogSource LogCatalog LogPartition LogReader LogScan LogStream
 * </pre>
 */
package org.kodec.spark;
