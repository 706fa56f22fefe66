"""A log directory that was written without a broker, made ready for one."""
