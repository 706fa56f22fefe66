"""Every error that kodec raises: one root, few leaves, facts as attributes."""

from kodec.runtime.errors import (
    CrcMismatch,
    EncodeError,
    FormatError,
    KodecError,
    LimitExceeded,
    LogFailed,
    Malformed,
    MissingDependency,
    OffsetOutOfRange,
    ReadFailed,
    Truncated,
    Unsupported,
)

__all__ = [
    "CrcMismatch",
    "EncodeError",
    "FormatError",
    "KodecError",
    "LimitExceeded",
    "LogFailed",
    "Malformed",
    "MissingDependency",
    "OffsetOutOfRange",
    "ReadFailed",
    "Truncated",
    "Unsupported",
]
