package io.aiven.kafka.tieredstorage;

import io.aiven.kafka.tieredstorage.config.RemoteStorageManagerConfig;
import io.aiven.kafka.tieredstorage.storage.BytesRange;
import java.io.InputStream;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.slf4j.Logger;

/**
 * Stands for the plugin's class of this name, which stores Iceberg tables instead of segments: what it needs is not on Maven
 * Central. The plugin makes one only for the format ICEBERG, which the lab does not use.
 */
public final class IcebergRemoteStorageManager extends InternalRemoteStorageManager {
    IcebergRemoteStorageManager(Logger log, Time time, RemoteStorageManagerConfig config) {
        super(log, time, config);
        throw new UnsupportedOperationException("the lab has no Iceberg");
    }

    @Override
    public Optional<RemoteLogSegmentMetadata.CustomMetadata> copyLogSegmentData(
            RemoteLogSegmentMetadata metadata, LogSegmentData data, UploadMetricReporter reporter) {
        throw new UnsupportedOperationException();
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, BytesRange range) {
        throw new UnsupportedOperationException();
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        // nothing is open
    }
}
