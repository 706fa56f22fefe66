/**
 * The Spark data source {@code kafka-log} in the JVM: Kafka's log files as columns, by the generated readers.
 *
 * <p>A class uses those of its own layer, and of the layers before it:
 *
 * <pre>
 * files: DataLossException Files Globs Names NeedsPythonSource Pages Tiered
 * batches: Batch Chain CompressedContent Control ErrorExplainer Foreign Frame ReadSettings Resumption Tail
 * segments: Gaps Segment SegmentSlice Start Transactions
 * rows: Batches Damage DamagePolicy OffsetOrder QuarantinedRange RowBuffers SegmentEnd Siblings SliceWalk Step Wanted Window
 * columns: Columns
 * planning: Options Planner Replica TopicLog
 * source: AggregateReader ErrorTranslatingReader KafkaLogSource LogCatalog LogPartition LogReader LogScan LogStream QuarantineReader
 * </pre>
 */
package org.kodec.spark;
