package org.kodec.spark;

import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * What one task reads.
 *
 * @param pieces in order
 */
record LogPartition(List<SegmentSlice> pieces) implements InputPartition {}
