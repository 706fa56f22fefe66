"""Files of a format that a schema describes, as Arrow columns."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from kodec.runtime.errors import FormatError, Malformed, MissingDependency, ReadFailed, Unsupported
from kodec.runtime.extras import install_command
from kodec.runtime.fields import DEFAULT_READ, ReadOptions
from kodec.runtime.streams import Buffer, StreamNode

if TYPE_CHECKING:
    import pyarrow as pa

    from kodec.formats.shapes import Column
    from kodec.generator.schema.model import Schema

__all__ = ["Format", "FormatReader", "load_schema"]

BATCH_ROWS = 8192
BATCH_BYTES = 32 << 20
MAPPED_BYTES = 64 << 20
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO


class FormatReader:
    """An iterator of `pyarrow.RecordBatch`; see `Format.scan`.

    Attributes:
        schema: the schema of every batch.
        rows: the path of the rows.
        left_out: fields that no column has, by their path from the outermost type, with the reason.
        backend: native or pure.

    Example: see `load_schema`.
    """

    def __init__(
        self,
        schema: pa.Schema,
        rows: str,
        left_out: dict[str, str],
        backend: str,
        batches: Iterator[pa.RecordBatch],
    ) -> None:
        self.schema = schema
        self.rows = rows
        self.left_out = left_out
        self.backend = backend
        self._batches = batches

    def __iter__(self) -> FormatReader:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

    def read_all(self) -> pa.Table:
        """The rest, as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self), schema=self.schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The batches for any library that takes Arrow streams."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self).__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The class of a file, the path of the rows, the function that returns them, and their columns."""

    kind: Any
    rows: str
    give: Callable[[Any, int], Iterator[Any]]
    columns: list[Column]
    left_out: dict[str, str]


class Format:
    """A format that a schema describes.

    Attributes:
        id: the id of the schema.
        lists: the paths of the lists that are the default rows: those nearest to the
            outermost type.

    Example:
        >>> import kodec
        >>> format = kodec.formats.load_schema("/data/schemas/sensor_log.ksy")
        >>> format.id, format.lists
        ('sensor_log', ('blocks',))
    """

    def __init__(self, path: Path, overlays: Iterable[str] = (), import_path: Sequence[Path] = ()) -> None:
        from kodec.formats.cache import modules_of
        from kodec.formats.collect import add_overlays, collect
        from kodec.formats.shapes import Shapes
        from kodec.generator.driver import load

        name, files = collect(path, import_path)
        add_overlays(files, overlays)
        self._modules = modules_of(files)
        self._model = load(self._modules.schemas)
        self._schema: Schema = next(each for each in self._model.schemas if each.path == name)
        self._shapes = Shapes(self._model, self._modules.module)
        self._plans: dict[tuple[str, tuple[str, ...] | None], _Plan] = {}
        self.id = self._schema.id
        self.lists = tuple(self._shapes.lists(self._schema.root))

    def scan(
        self,
        source: Source,
        rows: str | None = None,
        columns: Iterable[str] | None = None,
        *,
        options: ReadOptions = DEFAULT_READ,
        batch_rows: int = BATCH_ROWS,
    ) -> FormatReader:
        """Read a file's rows as Arrow batches.

        A large file is mapped into memory, not copied. For a list in the outermost type, or in objects that
        it holds outside of lists, switches and instances, only the rows of one batch are in memory, if no
        expression of the schema refers to the list; else all are.

        A row is an element of a repeated field, a column a field of it. Types are structs, repeated fields
        are lists, enums their numbers; a `switch-on` is a struct with a member for each
        alternative, of which one is not null. docs/columns.md has the table.

        Args:
            source: a path, bytes-like, or a file opened for reading in binary.
            rows: the path of the list whose elements are rows, from the outermost type: `packets`,
                `pages.cells` for those of all pages. None: what the schema marks as `-row`, or the only list
                (see `lists`).
            columns: paths from a row, in this order, instances among them: `body.ihdr_chunk.width`.
                None: all fields, and no instance.
            options: limits of the reader.
            batch_rows: the maximum number of rows in a batch.

        Raises: ValueError for rows or columns that are missing, or that must be chosen; OSError for a file
        that cannot be opened. While it is read: FormatError, ReadFailed.
        """
        if batch_rows < 1:
            raise ValueError(f"batch_rows: at least 1, not {batch_rows}")
        chosen = None if columns is None else list(columns)
        if chosen is not None and (not chosen or len(set(chosen)) < len(chosen)):
            raise ValueError(f"columns: empty or repeated: {', '.join(chosen)}")
        data, name = _bytes_of(source)
        if rows is None:
            found = self._marked(data, name, chosen, options, batch_rows)
            if found is not None:
                return found
            rows = self._only_list()
        plan = self._plan(rows, chosen)
        batches = _pure(lambda: self._rows(plan, data, options), plan.columns, name, batch_rows)
        return _reader(plan.columns, rows, dict(plan.left_out), batches)

    def _plan(self, rows: str, chosen: list[str] | None) -> _Plan:
        """The mapping of rows to columns, computed once. Raises ValueError."""
        key = (rows, None if chosen is None else tuple(chosen))
        if key not in self._plans:
            root = self._schema.root
            if root.params:
                raise ValueError(f"`{self.id}` has parameters, which a file does not define")
            shapes = self._shapes
            shapes.left_out.clear()
            give, row = shapes.rows(root, rows)
            columns = shapes.columns(row) if chosen is None else [shapes.column(row, path) for path in chosen]
            left_out = dict(shapes.left_out) if chosen is None else {}
            self._plans[key] = _Plan(shapes.class_of(root.name), rows, give, columns, left_out)
        return self._plans[key]

    def _rows(self, plan: _Plan, data: Buffer, options: ReadOptions) -> Iterator[Any]:
        """The rows' objects. Elements of a list outside other lists are read on demand."""
        first = self._outermost_list(plan.rows.split("."))
        if first:
            for each in plan.kind.each_of(data, ".".join(first), opt=options):
                yield from plan.give([each], len(first))
        else:
            yield from plan.give(self._read(plan.kind, data, options), 0)

    def _outermost_list(self, path: list[str]) -> list[str]:
        """The attributes that lead to the first list of a path; none where it is after an instance or a
        switch, and in layouts.
        """
        from kodec.generator.schema.model import Ref

        struct, attrs = self._schema.root, list[str]()
        while self._schema.streamed:
            name = path[len(attrs)]
            attrs.append(attribute_of(name))
            spec = struct.field(name)
            if spec is not None and spec.repeat is not None:
                return attrs
            if spec is None or not isinstance(spec.type, Ref):
                break
            struct = self._model.struct(spec.type.target)
        return []

    def _read(self, kind: Any, data: Buffer, options: ReadOptions) -> Any:
        return kind.from_bytes(data, opt=options) if self._schema.streamed else kind.from_bytes(data, options)

    def _only_list(self) -> str:
        root = self._schema.root
        if len(self.lists) == 1:
            return str(self.lists[0])
        if self.lists:
            raise ValueError(f"choose the list of rows: {', '.join(self.lists)}")
        others = [each.id for each in root.instances if each.parsed is not None and each.parsed.repeat]
        hint = f"; there is {', '.join(others)}" if others else ""
        raise ValueError(f"`{self.id}` has no list of types in its fields: name one as the rows{hint}")

    def _marked(
        self, data: Buffer, name: str | None, chosen: list[str] | None, options: ReadOptions, batch_rows: int
    ) -> FormatReader | None:
        """The rows that the schema marks, as a kernel has them; None if it marks none."""
        from kodec.formats.rows import NotPure, columns_of_kernel, hidden_by
        from kodec.generator.plan.rows import NoRows
        from kodec.generator.schema.type_roles import listed_rows, row_content
        from kodec.generator.targets.native.kernel import planned

        root = self._schema.root
        if row_content(self._model, root) is not None:
            raise ValueError(
                f"`{self.id}` is a container, of which a file has many: use its kernel, or name a list of one"
            )
        row = listed_rows(self._model, root)
        if row is None:
            return None
        try:
            marked = planned(self._model, self._schema)
            columns = columns_of_kernel(marked)
            hidden = hidden_by(marked)
        except (NoRows, NotPure) as error:
            if row.columns or row.row_unless is not None or row.row_head:
                raise ValueError(f"the `-row` of `{row.id}` cannot be columns: {error}") from None
            return None
        if chosen is not None:
            by_name = {each.name: each for each in columns}
            unknown = [each for each in chosen if each not in by_name]
            if unknown:
                raise ValueError(f"no such column: {', '.join(unknown)}; columns: {', '.join(by_name)}")
            columns = [by_name[each] for each in chosen]
        path = root.fields[0].id
        kind = self._shapes.class_of(root.name)
        attr = attribute_of(path)

        def objects() -> Iterator[Any]:
            for each in getattr(self._read(kind, data, options), attr):
                if not hidden(each):
                    yield each

        def pure(after: int) -> Iterator[pa.RecordBatch]:
            return _pure(lambda: islice(objects(), after, None), columns, name, batch_rows)

        kernel = None if os.environ.get("KODEC_PURE") == "1" else self._modules.kernel(self.id)
        if kernel is None:
            return _reader(columns, path, {}, pure(0))
        batches = _native(kernel, data, columns, options, batch_rows, pure)
        return _reader(columns, path, {}, batches, backend="native")


def load_schema(
    path: str | os.PathLike[str],
    overlays: Iterable[str] = (),
    *,
    import_path: Iterable[str | os.PathLike[str]] = (),
) -> Format:
    """The format that a Kaitai schema describes: its modules are generated once, into the user's cache.

    `path` is that of a .ksy file; its imports are searched for around it. If there is a C compiler and
    the schema can have a kernel, that is built too.

    Args:
        path: of a `.ksy` file; the schemas that it imports are found around it.
        overlays: files with further keys (`x.overlay.yaml`), or ids of schemas for which kodec has one. An
            overlay beside a schema is found by itself.
        import_path: further folders in which imports are found, after those around the file.

    Returns: the format; its `scan` reads files.
    Raises: SchemaError (a KodecError) with all problems of the schema; ValueError for an overlay
        that does not exist or is of another schema; MissingDependency; OSError.

    Example:
        >>> import kodec
        >>> format = kodec.formats.load_schema("/data/schemas/sensor_log.ksy")
        >>> format.id
        'sensor_log'
    """
    try:
        import pyarrow  # noqa: F401  # said here rather than at the first file

        return Format(Path(path), overlays, [Path(each) for each in import_path])
    except ImportError as error:
        if isinstance(error, MissingDependency):
            raise
        if error.name not in ("jinja2", "yaml", "ruff", "pyarrow"):
            raise
        raise MissingDependency(
            f"reading by a schema needs `{error.name}`: {install_command('generator', 'arrow')}"
        ) from error


def attribute_of(name: str) -> str:
    from kodec.generator.targets.python.names import attribute

    found: str = attribute(name)
    return found


def _bytes_of(source: Source) -> tuple[Buffer, str | None]:
    """All bytes, and the file's name, if known."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), None
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        with Path(source).open("rb") as file:
            facts = os.fstat(file.fileno())
            if stat.S_ISREG(facts.st_mode) and facts.st_size >= MAPPED_BYTES:
                return mmap(file.fileno(), 0, access=ACCESS_READ), name
            return _all_of(file, name), name
    return _all_of(source, getattr(source, "name", None)), None


def _all_of(file: BinaryIO, name: object) -> bytes:
    shown = name if isinstance(name, str) else None
    try:
        return file.read()
    except OSError as error:
        raise ReadFailed.of(error, source=shown) from error


def _reader(
    columns: list[Column],
    rows: str,
    left_out: dict[str, str],
    batches: Iterator[pa.RecordBatch],
    backend: str = "pure",
) -> FormatReader:
    import pyarrow as pa

    fields = pa.schema([pa.field(each.name, each.type) for each in columns])
    return FormatReader(fields, rows, left_out, backend, batches)


def _pure(
    objects: Callable[[], Iterator[Any]], columns: list[Column], name: str | None, size: int
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        for some in _portions(objects(), size):
            arrays = [_array(column, some) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=[each.name for each in columns])
            del some, arrays
    except FormatError as error:
        raise error.in_source(name) from error.__cause__


def _portions(rows: Iterator[Any], most: int) -> Iterator[list[Any]]:
    """Rows for one batch after another: up to the maximum number, or some megabytes."""
    some: list[Any] = []
    size = 0
    for row in rows:
        some.append(row)
        size += row._stop - row._start if isinstance(row, StreamNode) else 0
        if len(some) >= most or size >= BATCH_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _array(column: Column, rows: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        found = column.array(rows)
        if isinstance(found, pa.ChunkedArray):
            raise Unsupported(column.name, "more than 2 GiB in one batch: ask for smaller ones", at=0)
        return found
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        for row in rows:
            try:
                column.array([row])
            except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
                at = getattr(row, "_start", None) or 0
                reason = f"a value does not fit a column of {column.type}"
                raise Malformed(column.name, reason, at=at) from error
        raise Unsupported(column.name, f"the column is too large: {error}", at=0) from error


def _native(
    kernel: Any,
    data: Buffer,
    columns: list[Column],
    options: ReadOptions,
    size: int,
    pure: Callable[[int], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """Batches of a kernel. Data that it refuses is left to pure Python, which goes on or raises."""
    import pyarrow as pa

    names = [each.name for each in columns]
    rows = kernel.Rows(names, check=options.check_crc, rows=size, elements=options.elements)
    schema = pa.schema([pa.field(each.name, each.type) for each in columns])
    given = at = 0
    while True:
        status, at = rows.run(data, at, len(data))
        if status not in ("end", "ok", "full"):
            break
        texts = rows.not_ascii
        found = cast("pa.StructArray", pa.array(rows.take()))
        batch = pa.RecordBatch.from_arrays(found.flatten(), names=names)
        if texts:
            try:
                batch.validate(full=True)
            except pa.ArrowInvalid:
                # text that is not UTF-8
                break
        if batch.num_rows:
            given += batch.num_rows
            yield batch.cast(schema) if batch.schema != schema else batch
        if status != "full":
            return
    yield from pure(given)
