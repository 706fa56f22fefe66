"""Makes a working cluster of backup points, remote storage and the disks of lost brokers."""
