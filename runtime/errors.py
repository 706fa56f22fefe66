"""Every error that kodec raises: one root, few leaves, facts as attributes.

An error of a reader names the field (``records[3].value``), the byte, what was
needed and what was found. Paths grow from the inside out: the function that fails
names its own field, and each caller prepends its part with `FormatError.within`.
"""

from __future__ import annotations

from typing import Self

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
    "OffsetsMissing",
    "ReadFailed",
    "StalePlan",
    "Truncated",
    "Unsupported",
]


class KodecError(Exception):
    """The root of every error that kodec raises on purpose.

    Example:
        >>> import kodec
        >>> try:
        ...     kodec.LogDirectory("/data/kafka-logs").partition("nothing", 0)
        ... except kodec.errors.KodecError as error:
        ...     print(type(error).__name__)
        NoSuchPartition
    """


class FormatError(KodecError):
    """The bytes do not follow their format.

    Attributes:
        path: the field, from the outermost type to the failing one: ``records[3].value``.
        at: the byte where the field starts, counted from the start of the source.
        need: what the format requires (a number of bytes, a value, or a phrase).
        have: what the bytes hold.
        reason: a phrase for people; may be empty if `need` and `have` suffice.
        inside: the codec, if the error is in compressed data, else ``None``. `at` is then where the
            compressed bytes start, and `at_inside` the position in the *decompressed* bytes.
        at_inside: the byte in the decompressed bytes, or ``None``.
        source: the name of the file, where one is known.

    Example:
        >>> import kodec
        >>> data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
        >>> data[-1] ^= 1
        >>> try:
        ...     list(kodec.read_records(data))
        ... except kodec.errors.FormatError as error:
        ...     print(type(error).__name__, error.path, error.at)
        CrcMismatch RecordBatch(base_offset=0).crc 17
    """

    def __init__(
        self,
        path: str,
        reason: str = "",
        *,
        at: int,
        need: object = None,
        have: object = None,
    ) -> None:
        super().__init__(path)
        self.path = path
        self.reason = reason
        self.at = at
        self.need = need
        self.have = have
        self.inside: str | None = None
        self.at_inside: int | None = None
        self.source: str | None = None

    def within(self, parent: str, index: int | None = None, *, shift: int = 0) -> Self:
        """Put ``parent`` (or ``parent[index]``) in front of the path; move `at` by `shift` bytes."""
        self.path = _join(parent, index, self.path)
        self.at += shift
        return self

    def within_codec(self, codec: str, at: int) -> Self:
        """Record that `at` so far counted in data decompressed by `codec`, whose input starts at `at`."""
        if self.inside is None:
            self.inside, self.at_inside = codec, self.at
        self.at = at
        return self

    def in_source(self, name: str | None) -> Self:
        """Name the file that the bytes come from.

        Args:
            name: of the file.
        """
        self.source = name
        return self

    def _facts(self) -> str:
        facts = []
        if self.need is not None:
            facts.append(f"need {self.need}")
        if self.have is not None:
            facts.append(f"have {self.have}")
        return ", ".join(facts)

    def __str__(self) -> str:
        place = f"at byte {self.at}"
        if self.inside is not None:
            place = f"at byte {self.at_inside} of what the {self.inside} data {place} decompresses to"
        if self.source is not None:
            place += f" of {self.source}"
        body = ": ".join(part for part in (self.reason, self._facts()) if part)
        return f"{self.path}: {body}, {place}" if self.path else f"{body}, {place}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # Spark pickles errors to pass them between processes; keyword-only arguments need this method.
        return (_rebuild, (type(self), self.path, self.__dict__.copy()))


def _join(parent: str, index: int | None, path: str) -> str:
    head = parent if index is None else f"{parent}[{index}]"
    return f"{head}.{path}" if head and path and path[0] != "[" else head + path


def _rebuild(kind: type[FormatError], path: str, facts: dict[str, object]) -> FormatError:
    error = kind.__new__(kind, path)
    error.args = (path,)
    error.__dict__.update(facts)
    return error


class Truncated(FormatError):
    """The bytes end before the field does; `need` and `have` are numbers of bytes.

    Example:
        >>> import kodec
        >>> data = bytearray(kodec.encode([kodec.Record(value=b"v")], compression="gzip"))
        >>> del data[-9:]
        >>> data[8:12] = (len(data) - 12).to_bytes(4, "big")  # the length that is left
        >>> try:
        ...     list(kodec.read_records(data, check_crc=False))
        ... except kodec.errors.Truncated as error:
        ...     print(error.path, error.need, error.have)
        RecordBatch(base_offset=0).records 20 19
    """

    def _facts(self) -> str:
        return f"need {self.need} bytes, have {self.have}"


class Malformed(FormatError):
    """The bytes are complete but break a rule of the format, which `reason` names.

    Example:
        >>> import kodec
        >>> data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
        >>> data[8:12] = bytes(4)  # the batch's length
        >>> try:
        ...     list(kodec.read_records(data))
        ... except kodec.errors.Malformed as error:
        ...     print(error.path, error.need, error.have)
        len_body at least 14 0
    """


class CrcMismatch(FormatError):
    """The stored checksum (`need`) differs from that of the bytes (`have`); both are unsigned 32-bit numbers.

    Example:
        >>> import kodec
        >>> data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
        >>> data[-1] ^= 1
        >>> try:
        ...     list(kodec.read_records(data))
        ... except kodec.errors.CrcMismatch as error:
        ...     print(error.path, error.at)
        RecordBatch(base_offset=0).crc 17
    """

    def _facts(self) -> str:
        return f"stored {self.need:#010x}, computed {self.have:#010x}"


class Unsupported(FormatError):
    """A magic, codec, version or frame feature that the format does not define or kodec does not support.

    Example:
        >>> import kodec
        >>> data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
        >>> data[16] = 9  # the magic
        >>> try:
        ...     list(kodec.read_records(data))
        ... except kodec.errors.Unsupported as error:
        ...     print(error.path, error.have)
        magic 9
    """


class LimitExceeded(FormatError):
    """The data would exceed a limit; nothing was allocated for it.

    `need` is what the bytes require (for a decompression: one more than the limit, as the
    true size is unknown), `have` is the limit, `limit` the name of the option that sets it.

    Example:
        >>> import kodec
        >>> data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
        >>> try:
        ...     list(kodec.read_records(data, limits=kodec.Limits(batch_bytes=61)))
        ... except kodec.errors.LimitExceeded as error:
        ...     print(error.limit, error.have)
        batch_bytes 61
    """

    def __init__(
        self, path: str, reason: str = "", *, at: int, need: object, have: object, limit: str
    ) -> None:
        super().__init__(path, reason, at=at, need=need, have=have)
        self.limit = limit

    def _facts(self) -> str:
        return f"need {self.need}, limit {self.have} (option `{self.limit}`)"


def _shown(value: object) -> str:
    """The `repr` of a value from the caller, or a description of it where its `repr` fails."""
    try:
        return f"{value!r:.80}"
    except Exception as error:
        return f"a {type(value).__name__} whose repr raises {type(error).__name__}"


class EncodeError(KodecError, ValueError):
    """A value cannot be written in the requested format.

    Attributes: `path` (the field), `reason`, `need` (what the format allows), `have` (the value), `source`
    (the name of the file that the value comes from, where one is known).

    Example:
        >>> import kodec
        >>> try:
        ...     kodec.encode([kodec.Record(headers=(("trace", b"1"),))], magic=0)
        ... except kodec.errors.EncodeError as error:
        ...     print(error)
        records[0].headers: magic 0 has no headers: `lossy` drops them
    """

    def __init__(self, path: str, reason: str, *, need: object = None, have: object = None) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason
        self.need = need
        self.have = have
        self.source: str | None = None

    def in_source(self, name: str | None) -> Self:
        """Name the file that the value comes from.

        Args:
            name: of the file.
        """
        self.source = name
        return self

    def within(self, parent: str, index: int | None = None) -> Self:
        """Put ``parent`` (or ``parent[index]``) in front of the path."""
        self.path = _join(parent, index, self.path)
        return self

    def __str__(self) -> str:
        # a default that is empty is shown, too
        facts = [] if self.need is None else [f"need {_shown(self.need) if self.need == '' else self.need}"]
        if self.have is not None:
            facts.append(f"have {_shown(self.have)}")
        start = f"{self.path}: " if self.path else ""
        place = f", in {self.source}" if self.source is not None else ""
        return f"{start}{self.reason}" + (f" ({', '.join(facts)})" if facts else "") + place


class ArgumentError(KodecError, TypeError, ValueError):
    """An invalid argument; the message names what the function accepts.

    Example:
        >>> import kodec
        >>> try:
        ...     kodec.read_records(42)
        ... except kodec.errors.ArgumentError as error:
        ...     print(error)
        expected a path, bytes or a binary file, not int
    """


class NoSuchPartition(KodecError, KeyError):
    """A topic-partition that a log directory does not have; the message lists the existing ones.

    Example:
        >>> import kodec
        >>> try:
        ...     kodec.LogDirectory("/data/kafka-logs").partition("nothing", 0)
        ... except kodec.errors.NoSuchPartition as error:
        ...     print(type(error).__name__)
        NoSuchPartition
    """

    __str__ = Exception.__str__  # KeyError shows its text in quotes


class MissingDependency(KodecError, ImportError):
    """A library that this call needs is not installed; the message names the extra that installs it.

    Example:
        >>> import kodec
        >>> from kodec.pipeline import delta_table
        >>> import sys
        >>> sys.modules["deltalake"] = None  # as if it were not installed
        >>> try:
        ...     delta_table("records")
        ... except kodec.errors.MissingDependency as error:
        ...     print(type(error).__name__)
        DeltaLakeTable('records')
        >>> del sys.modules["deltalake"]
    """


class OffsetOutOfRange(KodecError, LookupError):
    """An offset that the log does not have.

    Attributes: `offset` (the requested one), `start` (the first offset), `end` (the one after the last,
    at which a read returns nothing yet), `log` (the topic-partition).

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> try:
        ...     log.read(1_000_000)
        ... except kodec.errors.OffsetOutOfRange as error:
        ...     print(error.offset, error.start, error.end)
        1000000 0 421
    """

    def __init__(self, offset: int, start: int, end: int, log: str) -> None:
        super().__init__(offset, start, end, log)
        self.offset = offset
        self.start = start
        self.end = end
        self.log = log

    def __str__(self) -> str:
        return f"{self.log} has offsets {self.start} to {self.end} (exclusive), not {self.offset}"


class OffsetsMissing(KodecError):
    """Offsets that a log has lost: no segment holds them, and nothing shows that they were rightly removed.

    Attributes: `first` and `last` (the offsets, both inclusive), `log` (the folder of the log), `reason`.

    Example:
        >>> import kodec
        >>> kodec.errors.OffsetsMissing(135, 200, "orders-0").last
        200
    """

    def __init__(self, first: int, last: int, log: str, reason: str = "they are in no segment") -> None:
        super().__init__(first, last, log, reason)
        self.first = first
        self.last = last
        self.log = log
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.log}: offsets {self.first} to {self.last} are missing: {self.reason}"


class LogFailed(KodecError, RuntimeError):
    """A writer that refuses further calls: an earlier change was not completed, so log and disk may disagree.

    Causes are an interrupted call, a failed fsync, a failed roll and a fork of the process. Close the writer
    and open the log again, which reads its end from the disk; if opening is refused, recover the log.
    `__cause__` is the first failure, if it is known.

    Attributes: `log` (the path that was written to), `reason`.

    Example:
        >>> import kodec
        >>> from unittest.mock import patch
        >>> log = kodec.LogWriter("orders-0")
        >>> with patch("os.fsync", side_effect=OSError(5, "Input/output error")):  # a bad disk
        ...     try:
        ...         log.flush()
        ...     except OSError as error:
        ...         print(error.errno)
        5
        >>> try:
        ...     log.append([kodec.Record(value=b"v")])
        ... except kodec.errors.LogFailed as error:
        ...     print(type(error).__name__, error.reason)
        LogFailed a flush was not completed (OSError: [Errno 5] Input/output error)
    """

    def __init__(self, log: str, reason: str) -> None:
        super().__init__(log, reason)
        self.log = log
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.log}: {self.reason}: close this writer and open the log again"


class ReadFailed(KodecError, OSError):
    """The system cannot read bytes of an existing file: a bad disk block, an unreachable server.

    Attributes: `at` (the byte where the read started), `source` (the file's name, where one is
    known), and those of OSError: `errno`, `strerror`, `filename`.

    Example:
        >>> import kodec
        >>> class BadDisk:
        ...     def read(self, size=-1):
        ...         raise OSError(5, "Input/output error")
        >>> try:
        ...     list(kodec.read_records(BadDisk()))
        ... except kodec.errors.ReadFailed as error:
        ...     print(error.errno, error.at)
        5 0
    """

    def __init__(
        self, reason: str, number: int | None = None, at: int = 0, source: str | None = None
    ) -> None:
        super().__init__(number, reason)
        self.at = at
        self.in_source(source)

    @classmethod
    def of(cls, error: OSError, at: int = 0, source: str | None = None) -> Self:
        """The error for a failed read, made from that of the system.

        Args:
            error: the error of the system.
            at: the byte where the read started.
            source: the file's name.
        """
        return cls(error.strerror or str(error) or type(error).__name__, error.errno, at, source)

    def in_source(self, name: str | None) -> Self:
        """Name the file.

        Args:
            name: of the file.
        """
        self.source = self.filename = name
        return self

    def __str__(self) -> str:
        return f"{self.source or 'the source'} cannot be read at byte {self.at}: {self.strerror}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.strerror, self.errno, self.at, self.source)


class StalePlan(KodecError, RuntimeError):
    """A plan is not carried out because its input has changed since: plan again.

    Attributes: `path` (the file or folder that has changed), `reason`.

    Example:
        >>> import kodec
        >>> with kodec.LogWriter("orders-0") as log:
        ...     _ = log.append([kodec.Record(value=b"v")])
        >>> plan = kodec.operations.plan_trim("orders-0", before_offset=1)
        >>> with kodec.LogWriter("orders-0") as log:
        ...     _ = log.append([kodec.Record(value=b"w")])
        >>> try:
        ...     plan.apply()
        ... except kodec.errors.StalePlan as error:
        ...     print(type(error).__name__)
        StalePlan
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason} since the plan was made: plan again"


if __name__ == "kodec.runtime.errors":
    # not in a copy beside generated modules
    for _name in __all__:
        # what tracebacks show, and people import
        globals()[_name].__module__ = "kodec.errors"
