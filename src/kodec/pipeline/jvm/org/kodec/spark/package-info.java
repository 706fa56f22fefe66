/**
 * The Spark data source {@code kafka-log} in the JVM: Kafka's log files as columns, by the generated readers.
 *
 * <p>A class uses those of its own layer, and of the layers before it:
 *
 * <pre>
 * files: DataLossException Elsewhere Files Globs Names Pages Tiered
 * batches: Batch Careful Chain Control Foreign Frame Reading Resumption Tail Wrapped
 * segments: Gaps Piece Segment Start Transactions
 * rows: Batches Damage Left LeftOut OffsetOrder PieceWalk RowBuffers SegmentEnd Siblings Step Wanted Window
 * columns: Columns
 * planning: Options Planner Replica TopicLog
 * source: AggregateReader KafkaLogSource LeftReader LogCatalog LogPartition LogReader LogScan LogStream ToldReader
 * </pre>
 */
package org.kodec.spark;
