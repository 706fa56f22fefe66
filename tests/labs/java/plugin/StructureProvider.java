package io.aiven.kafka.tieredstorage.iceberg;

import org.apache.kafka.common.Configurable;

/** Stands for the plugin's interface of this name, which is for Iceberg tables and needs a registry that is not on Maven Central. */
public interface StructureProvider extends Configurable {
}
