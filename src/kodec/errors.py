"""Every error that kodec raises: one root, few leaves, facts as attributes."""

from kodec.runtime.errors import (
    ArgumentError,
    CrcMismatch,
    EncodeError,
    FormatError,
    KodecError,
    LimitExceeded,
    LogFailed,
    Malformed,
    MissingDependency,
    NoSuchPartition,
    OffsetOutOfRange,
    ReadFailed,
    Truncated,
    Unsupported,
)

__all__ = [
    "ArgumentError",
    "CrcMismatch",
    "EncodeError",
    "FormatError",
    "KodecError",
    "LimitExceeded",
    "LogFailed",
    "Malformed",
    "MissingDependency",
    "NoSuchPartition",
    "OffsetOutOfRange",
    "ReadFailed",
    "Truncated",
    "Unsupported",
]
