/** The Spark data source {@code kafka-log} in the JVM: Kafka's log files as columns, by the generated readers. */
package org.kodec.spark;
