"""Files of a format that a schema describes, as objects and as Arrow columns."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count, islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from kodec.formats.live import MOST_BYTES, Readable, each_live
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import FormatError, Malformed, MissingDependency, ReadFailed, Unsupported
from kodec.runtime.extras import install_command
from kodec.runtime.fields import DEFAULT_READ, AnyBuffer, ReadOptions, too_many
from kodec.runtime.native import native_module
from kodec.runtime.near import meant
from kodec.runtime.shown import table
from kodec.runtime.streams import StreamNode
from kodec.stores.storage import StorePath, as_stored, readable

if TYPE_CHECKING:
    import pyarrow as pa

    from kodec.formats.cache import Modules
    from kodec.formats.conditions import Comparison, Test, Where
    from kodec.formats.filling import Filling
    from kodec.formats.shapes import Column, Shapes
    from kodec.generator.schema.model import Model, Ref, Schema

__all__ = ["Format", "FormatReader", "load_schema", "objects_of"]

PLAN_SUFFIX = ".kodec"
BATCH_ROWS = 16_384
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
        through_objects: the type and the reason why rows were made of Python objects, which is many times
            slower; empty if they were not. Known once all batches were read.

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
        self.through_objects = ""
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
    """The class of a file, the path of the rows, the function that returns them, and their columns.

    Attributes:
        columns: those that are asked for, and then those that conditions need.
        shown: how many are asked for.
        schema: that of those.
        test: the condition; None: every row.
        filling: how they are filled natively.
        sought: those that are instances, or parts of one.
    """

    kind: Any
    rows: str
    give: Callable[[Any, int], Iterator[Any]]
    columns: list[Column]
    shown: int
    schema: pa.Schema
    left_out: dict[str, str]
    test: Comparison | Test | None
    filling: Filling
    sought: list[Column]


class Format:
    """A format that a schema describes.

    Attributes:
        id: the id of the schema.
        module: the module that is generated from the schema, with a class for each of its types.
        lists: the paths of the lists that are the default rows of `scan`: those nearest to the
            outermost type.

    Example:
        >>> import kodec
        >>> format = kodec.formats.load_schema("/data/schemas/sensor_log.ksy")
        >>> format.id, format.lists
        ('sensor_log', ('blocks',))
    """

    def __init__(
        self,
        path: Path,
        overlays: Iterable[str] = (),
        import_path: Sequence[Path] = (),
        *,
        trusted: bool = False,
    ) -> None:
        if path.suffix == PLAN_SUFFIX:
            from kodec.formats.plans import opened

            named_modules = opened(path, customized=bool(overlays or import_path), trusted=trusted)
        else:
            named_modules = _loaded(path, overlays, import_path)
        self._name, self._modules = named_modules
        self._about = self._modules.about(self._name)
        self._by_enums: dict[str, Shapes] = {}
        self._plans: dict[tuple[Any, ...], _Plan] = {}
        self.id = self._about.id

    def __repr__(self) -> str:
        return f"<Format {self.id}: rows of {', '.join(map(repr, self.lists)) or 'the whole file'}>"

    def _repr_html_(self) -> str:
        types = [(struct.name, struct.doc.raw) for struct in self._schema.structs]
        return table(("type", "description"), types, repr(self), len(types))

    @cached_property
    def _model(self) -> Model:
        return self._modules.model()

    @cached_property
    def _schema(self) -> Schema:
        return self._model.schema_at(self._name)

    @cached_property
    def module(self) -> ModuleType:
        return self._modules.module(self._about.module)

    @cached_property
    def lists(self) -> tuple[str, ...]:
        return tuple(self._shapes("names").lists(self._schema.root))

    @cached_property
    def fallbacks(self) -> Mapping[str, str]:
        """The types with parts that columns are made of through Python objects, many times slower, with the
        reason. Only rows of files that have such a part are: `FormatReader.through_objects`.

        Needs the libraries of the generator. Raises: MissingDependency.
        """
        from kodec.formats.fallbacks import fallbacks

        return fallbacks(self._model)

    def _reason(self, kind: type | None) -> str:
        """Why the native reader stopped at objects of a class."""
        if kind is None:
            return "a parameter is an object or a stream"
        class_of = self._shapes("names").class_of
        names = (struct.name for schema in self._model.schemas for struct in schema.structs)
        name = next(name for name in names if class_of(name) is kind)
        try:
            reason = self.fallbacks.get(name)
        except MissingDependency:
            reason = None
        return f"`{name}`: {reason or 'a value that the native reader does not compute'}"

    @cached_property
    def _kind(self) -> Any:
        """The class of the outermost type."""
        return getattr(self.module, self._about.name)

    def _shapes(self, enums: str) -> Shapes:
        _require_pyarrow()
        from kodec.formats.shapes import Shapes

        if enums not in ("names", "numbers"):
            raise ValueError(f"enums: names or numbers, not {enums}")
        if enums not in self._by_enums:
            self._by_enums[enums] = Shapes(self._model, self._modules.module, enum_names=enums == "names")
        return self._by_enums[enums]

    def read(
        self,
        source: Source,
        parameters: Mapping[str, Any] | None = None,
        *,
        exact: bool | None = None,
        options: ReadOptions = DEFAULT_READ,
    ) -> Any:
        """Read a file as an object of the outermost type, to look at, or to change and write.

        It is one of the generated classes (`module`): fields are attributes, instances are properties, and
        `to_bytes()` writes it. Lengths, counts, positions and what an overlay defines follow from what was
        changed (docs/streamed-schemas.md).

        Args:
            source: a path, bytes-like, or a file opened for reading in binary.
            parameters: the values of the outermost type's parameters, by their ids; of an enum its member, a
                name or a number.
            exact: whether bytes after the object are an error; None: unless instances may read them.
            options: limits of the reader.

        Raises: ValueError for parameters that are missing, unknown or of another type; OSError; FormatError.

        Example:
            >>> import pathlib, tempfile
            >>> import kodec
            >>> schema = pathlib.Path(tempfile.mkdtemp()) / "message.ksy"
            >>> fields = "[{id: len, type: u1}, {id: body, size: len}]"
            >>> _ = schema.write_text("{meta: {id: message}, seq: %s}" % fields)
            >>> message = kodec.formats.load_schema(schema).read(bytes([2]) + b"hi")
            >>> message.body = b"hello"
            >>> message.to_bytes()
            b'\\x05hello'
        """
        if parameters is None and exact is None and type(source) is bytes and not self._about.parameters:
            # a small message is read in less time than all of this takes
            return self._kind.from_bytes(source, opt=options)
        arguments = self._arguments(parameters)
        data, name = bytes_of(source)
        with _whole(data):
            try:
                return self._read(self._kind, data, options, arguments, exact)
            except FormatError as error:
                raise error.in_source(name) from error.__cause__

    def scan(
        self,
        source: Source,
        rows: str | None = None,
        columns: Iterable[str] | None = None,
        *,
        where: Where | None = None,
        parameters: Mapping[str, Any] | None = None,
        nested: bool = False,
        enums: str = "names",
        check: bool = False,
        options: ReadOptions = DEFAULT_READ,
        batch_rows: int = BATCH_ROWS,
        part: tuple[int, int] | None = None,
    ) -> FormatReader:
        """Read a file's rows as Arrow batches.

        They are filled natively where the steps of the schema allow (see `fallbacks`): only one batch of rows
        is in memory, if no expression of the schema refers to their list. A large file is mapped into memory,
        not copied.

        A row is an element of a repeated field, or an object; a column is a field of it. Fields of types are
        columns of their own (`body.ipv4.src`), enums their names, repeated fields lists. A `switch-on` is a
        column with the name of the type, and the columns of each type. docs/columns.md has the table.

        Args:
            source: a path, bytes-like, or a file opened for reading in binary.
            rows: the path of the list whose elements are rows, from the outermost type: `packets`,
                `pages.cells` for those of all pages, `chunks.body` for an object of each, `.` for the file
                as one row. None: what the schema marks as `-row`, or the only list (see `lists`).
            columns: paths from a row, in this order, instances among them: `body.ihdr_chunk.width`,
                `_parent.number`, `_root.header.version`; `*` are all fields. Parts of the file that no
                column and no condition needs are passed over, unchecked, where their size is known.
                None: all fields, and no instance.
            where: a condition that rows fulfil, checked before the rest of a row is read:
                `incl_len > 100`, or `[("incl_len", ">", 100)]`.
            parameters: of the outermost type, as in `read`.
            nested: types as structs, and a `switch-on` as a struct with a member for each type.
            enums: `names`, or `numbers`.
            check: compare what follows from bytes (`-derive`), such as checksums, as `read` does. Then rows
                are made of Python objects, which is many times slower.
            options: limits of the reader; `check_crc` and `verify` apply with `check`, and to what is marked
                `-row`.
            batch_rows: the maximum number of rows in a batch.
            part: the number of rows that are left out, and the number of rows after these (-1: all), of rows
                that all have as many bytes (see `row_parts`).

        Raises: ValueError for rows, columns or a condition that are missing or wrong, or that must be chosen;
        OSError for a file that cannot be opened. While it is read: FormatError, ReadFailed.
        """
        if batch_rows < 1:
            raise ValueError(f"batch_rows: at least 1, not {batch_rows}")
        arguments = self._arguments(parameters)
        data, name = bytes_of(source)
        plan = self._planned(rows, columns, where, nested, enums)
        if isinstance(plan, _Plan):
            reader = _Scan(self, plan, data, name, options, batch_rows, part, arguments, check).reader()
        elif part is not None:
            raise ValueError("part: the rows of a kernel are read as a whole")
        else:
            reader = self._marked(*plan, data, name, options, batch_rows)
        if isinstance(data, _Mapped):
            reader._batches = _batches_of(reader._batches, data)
        return reader

    def save(self, to: str | os.PathLike[str]) -> None:
        """Write the checked schema and the generated modules as one file, a plan, which `load_schema` takes.

        It is opened by its schemas: they are checked and generated again, and nothing else of it is used.
        Where the environment has KODEC_ALLOW=plans, the code in a plan of the same version of kodec is run
        instead, which needs no generator and no compiler: that is for plans of people whom you trust.

        Args:
            to: the file, whose name ends in `.kodec`; it is replaced.

        Raises: ValueError for another name, OSError.
        """
        import secrets

        from kodec.formats.plans import packed

        if Path(to).suffix != PLAN_SUFFIX:
            raise ValueError(f"{to}: the name of a plan ends in .kodec")
        temporary = Path(to).with_name(f".{Path(to).name}.{secrets.token_hex(8)}")
        try:
            with temporary.open("xb") as file:
                file.write(packed(self._name, self._modules))
            temporary.replace(to)
        finally:
            temporary.unlink(missing_ok=True)

    def schema_of(
        self,
        rows: str | None = None,
        columns: Iterable[str] | None = None,
        *,
        nested: bool = False,
        enums: str = "names",
    ) -> pa.Schema:
        """The schema of the batches of `scan`, without a file. Raises: ValueError as `scan`."""
        plan = self._planned(rows, columns, None, nested, enums)
        return plan.schema if isinstance(plan, _Plan) else _schema_of(plan[1][: plan[2]])

    def row_parts(
        self,
        source: Source,
        rows: str | None = None,
        columns: Iterable[str] | None = None,
        *,
        most: int,
        least: int = 1,
        where: Where | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> list[tuple[int, int]]:
        """Parts of a file that can be read alone (see `scan`): at most `most`, of `least` rows or more.

        Rows can be counted without reading them if they all have as many bytes: a type of fixed width, or a
        `size` that is the same for each. Any other file is one part.

        Args: source, rows, columns, where and parameters are as in `scan`.
        Raises: as `scan`.
        """
        arguments = self._arguments(parameters)
        data, _ = bytes_of(source)
        plan = self._planned(rows, columns, where, False, "names")
        native_rows = plan.filling.rows(data, DEFAULT_READ, arguments) if isinstance(plan, _Plan) else None
        if not isinstance(plan, _Plan) or native_rows is None or most < 2 or plan.filling.whole:
            return [(0, -1)]
        with _whole(data):
            status, counted, *_ = native_rows.run(1, 1)
            size, remaining = native_rows.fixed()
        total = counted + remaining
        if status != "more" or not size or total < 2 * max(least, 1):
            return [(0, -1)]
        parts = min(most, total // max(least, 1))
        starts = [total * i // parts for i in range(parts)]
        ends = [*starts[1:], None]
        return [(start, -1 if end is None else end - start) for start, end in zip(starts, ends, strict=True)]

    def _planned(
        self, rows: str | None, columns: Iterable[str] | None, where: Where | None, nested: bool, enums: str
    ) -> _Plan | tuple[Any, list[Column], int, Comparison | Test | None]:
        _require_pyarrow()
        from kodec.formats.conditions import condition_of

        selected = [columns] if isinstance(columns, str) else None if columns is None else list(columns)
        if selected is not None and (not selected or len(set(selected)) < len(selected)):
            raise ValueError(f"columns: empty or repeated: {', '.join(selected)}")
        test = None if where is None else condition_of(where)
        if rows is None:
            plan = self._marked_columns(selected, test)
            if plan is not None:
                return plan
            rows = self._only_list()
        key = (rows, None if selected is None else tuple(selected), test, nested, enums)
        try:
            hash(key)
        except TypeError:
            return self._plan(rows, selected, test, nested, enums)
        if key not in self._plans:
            self._plans[key] = self._plan(rows, selected, test, nested, enums)
        return self._plans[key]

    def _plan(
        self, path: str, selected: list[str] | None, test: Comparison | Test | None, nested: bool, enums: str
    ) -> _Plan:
        """The mapping of rows to columns. Raises ValueError."""
        from kodec.formats.conditions import natively
        from kodec.formats.filling import Filling

        root = self._schema.root
        shapes = self._shapes(enums)
        shapes.left_out.clear()
        rows = shapes.rows(root, path)
        columns: list[Column] = []
        for name in ["*"] if selected is None else selected:
            if name == "*":
                columns += shapes.columns(rows.shape) if nested else shapes.flat(rows.shape)
            elif nested:
                columns.append(shapes.column(rows.shape, name, rows.owners))
            else:
                columns += shapes.flat(rows.shape, name, rows.owners)
        columns = list({column.name: column for column in columns}.values())
        shown = len(columns)
        left_out = dict(shapes.left_out) if selected is None else {}
        known = {column.name: column for column in columns}
        for name in dict.fromkeys(test.paths if test is not None else ()):
            if name not in known:
                known[name] = shapes.flat(rows.shape, name, rows.owners)[0]
                columns.append(known[name])
        conditions = [] if test is None else list(natively(test, known))
        kind = shapes.class_of(root.name)
        sought = shapes.sought(columns)
        whole = shapes.looks_ahead(rows, sought)
        filling = Filling(shapes, kind, rows, columns, conditions, whole=whole)
        # batches are not compared with a schema that is theirs
        schema = filling.schema if shown == len(columns) else _schema_of(columns[:shown])
        return _Plan(kind, path, rows.give, columns, shown, schema, left_out, test, filling, sought)

    def _objects(
        self,
        plan: _Plan,
        data: AnyBuffer,
        options: ReadOptions,
        arguments: tuple[Any, ...] = (),
        *,
        check: bool = False,
    ) -> Iterator[Any]:
        """The rows' objects. Elements of a list outside other lists are read on demand."""
        whole = plan.rows == "." or plan.filling.whole
        first = self._outermost_list([] if whole else plan.rows.replace("[]", "").split("."))
        if self._schema.streamed and not check:
            options = replace(options, check_crc=False, verify=False)
        if first:
            elements = plan.kind.each_of(data, ".".join(first), *arguments, opt=options, exact=False)
        else:
            elements = iter([self._of_file(plan.kind, data, options, arguments)])
        rows = (row for element in elements for row in plan.give(element, len(first)))
        for row in rows:
            # an instance may depend on where a stream stands, and is read before the stream goes on
            for column in plan.sought:
                column.value(row)
            yield row

    def _outermost_list(self, path: list[str]) -> list[str]:
        """The attributes that lead to the first list of a path; none where it is after an instance or a
        switch, and in layouts.
        """
        from kodec.generator.schema.model import Ref

        struct, attrs = self._schema.root, list[str]()
        while self._schema.streamed and len(attrs) < len(path):
            name = path[len(attrs)]
            attrs.append(attribute_of(name))
            spec = struct.field(name)
            if spec is not None and spec.repeat is not None:
                return attrs
            if spec is None or not isinstance(spec.type, Ref):
                break
            struct = self._model.struct(spec.type.target)
        return []

    def _arguments(self, parameters: Mapping[str, Any] | None) -> tuple[Any, ...]:
        """The values of the outermost type's parameters, in their order. Raises: ValueError."""
        if not parameters and not self._about.parameters:
            return ()
        from kodec.formats.parameters import values_of

        root = self._schema.root
        values = values_of(self._model, root, parameters)
        return tuple(
            value if param.enum is None else self._members(param.enum, value)
            for param, value in zip(root.params, values, strict=True)
        )

    def _members(self, enum: str, value: Any) -> Any:
        """The members of an enum's class for numbers; a number that has none stays one."""
        from kodec.generator.targets.python.names import ClassNames

        if isinstance(value, list):
            return [self._members(enum, item) for item in value]
        module = self._modules.module(self._model.schema_of(enum).module)
        enum_class = getattr(module, ClassNames(self._model).enum_class(enum))
        try:
            return enum_class(value)
        except ValueError:
            return value

    def parameters_of(self, texts: Iterable[str]) -> dict[str, Any]:
        """The parameters of the outermost type that are written as NAME=VALUE, for `read` and `scan`.

        Whole numbers may be hexadecimal (`0x1f`), bytes are hexadecimal digits, flags `true` or `false`,
        values of enums names or numbers; the elements of a list stand between commas.

        Args: texts are such texts: `["version=3", "raw=true"]`.
        Returns: the values by the names of the parameters.
        Raises: ValueError for one that is unknown, given twice, or not of its type.

        Example:
            >>> import pathlib, tempfile
            >>> import kodec
            >>> schema = pathlib.Path(tempfile.mkdtemp()) / "message.ksy"
            >>> params = "[{id: wide, type: bool}]"
            >>> fields = "[{id: a, type: u1}, {id: b, type: u1, if: wide}]"
            >>> _ = schema.write_text("{meta: {id: message}, params: %s, seq: %s}" % (params, fields))
            >>> format = kodec.formats.load_schema(schema)
            >>> format.read(b"xy", format.parameters_of(["wide=true"])).b
            121
        """
        from kodec.formats.parameters import from_text

        return from_text(self._model, self._schema.root, texts)

    def _read(
        self,
        kind: Any,
        data: AnyBuffer,
        options: ReadOptions,
        arguments: tuple[Any, ...] = (),
        exact: bool | None = None,
    ) -> Any:
        # in their order: a parameter may be called `opt`
        if exact is None:
            return kind.from_bytes(data, *arguments, opt=options)
        return kind.from_bytes(data, *arguments, opt=options, exact=exact)

    def _of_file(
        self, kind: Any, data: AnyBuffer, options: ReadOptions, arguments: tuple[Any, ...] = ()
    ) -> Any:
        """An object of a file, which may go on after what its schema describes; a layout describes all."""
        return self._read(kind, data, options, arguments, exact=not self._schema.streamed)

    def _start(self, data: AnyBuffer, parameters: Mapping[str, Any] | None = None) -> Any:
        """The object that bytes start with. Raises: ValueError for parameters; FormatError."""
        return self._of_file(self._kind, data, DEFAULT_READ, self._arguments(parameters))

    def _each(
        self,
        source: Readable,
        path: str | None,
        options: ReadOptions,
        most: int,
        parameters: Mapping[str, Any] | None = None,
    ) -> tuple[str, Iterator[Any]]:
        """The path of a list, and its elements as they arrive; with an empty path, one object after another.

        Without a `path` it is the list at the end of the outermost type, if there is one. Raises: ValueError
        for a path that is not a list which is read one by one, and for parameters; while reading FormatError,
        ReadFailed.
        """
        root, kind = self._schema.root, self._kind
        arguments = self._arguments(parameters)
        if not self._schema.streamed:
            raise ValueError(f"`{self.id}` has keys of layouts, which are read as a whole")
        ends = [field.id for field in root.fields[-1:] if field.repeat is not None]
        list_path = (
            path if path is not None else ends[0] if ends and attribute_of(ends[0]) in kind._each else ""
        )
        steps = tuple(attribute_of(step) for step in list_path.split(".")) if list_path else ()
        if steps and steps[0] not in kind._each:
            known = ", ".join(name.removesuffix("_") for name in kind._each) or "none"
            raise ValueError(f"`{list_path}` cannot be read one by one; lists that can: {known}")
        return list_path, each_live(kind, steps, source, options, most, arguments)

    def _only_list(self) -> str:
        root = self._schema.root
        if len(self.lists) == 1:
            return str(self.lists[0])
        if self.lists:
            raise ValueError(f"choose the list of rows: {', '.join(self.lists)}")
        others = [
            instance.id
            for instance in root.instances
            if instance.parsed is not None and instance.parsed.repeat
        ]
        hint = f"; there is {', '.join(others)}" if others else ""
        raise ValueError(
            f"`{self.id}` has no list of types in its fields: name one as the rows{hint}; "
            "`.` is the file as one row"
        )

    def _marked_columns(
        self, selected: list[str] | None, test: Comparison | Test | None
    ) -> tuple[Any, list[Column], int, Comparison | Test | None] | None:
        """The rows that the schema marks, as a kernel has them; None if it marks none."""
        from kodec.generator.schema.type_roles import listed_rows, row_content

        root = self._schema.root
        if row_content(self._model, root) is not None:
            raise ValueError(
                f"`{self.id}` is a container, and a file has many: use its kernel, or name a list of one"
            )
        row = listed_rows(self._model, root)
        if row is None:
            return None
        from kodec.formats.rows import NotPure, columns_of_kernel, hidden_by
        from kodec.generator.plan.rows import NoRows
        from kodec.generator.targets.native.kernel import planned

        try:
            marked = planned(self._model, self._schema)
            columns = columns_of_kernel(marked)
            hidden = hidden_by(marked)
        except (NoRows, NotPure) as error:
            if row.columns or row.row_unless is not None or row.row_head:
                raise ValueError(f"the `-row` of `{row.id}` cannot be columns: {error}") from None
            return None
        by_name = {column.name: column for column in columns}
        needed = list(test.paths) if test is not None else []
        unknown = [name for name in [*(selected or ()), *needed] if name not in by_name]
        if unknown:
            near = meant(unknown[0], by_name, f"columns: {', '.join(by_name)}")
            raise ValueError(f"no such column: {', '.join(unknown)}{near}")
        if selected is not None:
            columns = [by_name[name] for name in selected]
        shown = len(columns)
        columns += [by_name[name] for name in dict.fromkeys(needed) if by_name[name] not in columns]
        return hidden, columns, shown, test

    def _marked(
        self,
        hidden: Callable[[Any], bool],
        columns: list[Column],
        shown: int,
        test: Comparison | Test | None,
        data: AnyBuffer,
        name: str | None,
        options: ReadOptions,
        batch_rows: int,
    ) -> FormatReader:
        path = self._schema.root.fields[0].id
        target = cast("Ref", self._schema.root.fields[0].type).target
        kind: Any = self._shapes("numbers").class_of(target)

        def objects() -> Iterator[Any]:
            # one by one: rows before damage are given
            position = 0
            for index in count():
                if position == len(data):
                    return
                try:
                    row, position = kind.read_from(data, position, opt=options)
                except FormatError as error:
                    raise error.within(path, index) from None
                if index == options.elements:
                    raise too_many(path, position, options)
                if not hidden(row):
                    yield row

        def pure(after: int) -> Iterator[pa.RecordBatch]:
            return _pure(lambda: islice(objects(), after, None), columns, name, batch_rows)

        def remaining(after: int) -> Iterator[pa.RecordBatch]:
            yield from pure(after)
            # no error was raised: the bytes were right
            reader.through_objects = f"`{target}`: a value that the kernel does not support"

        kernel = None if os.environ.get("KODEC_PURE") == "1" else self._modules.kernel(self.id)
        backend = "pure" if kernel is None else "native"
        reader = FormatReader(_schema_of(columns[:shown]), path, {}, backend, iter(()))
        batches = (
            pure(0) if kernel is None else _native(kernel, data, columns, options, batch_rows, remaining)
        )
        reader._batches = _filtered(batches, test, shown)
        return reader


@dataclass(frozen=True, slots=True)
class _Scan:
    """One reading of a file."""

    format: Format
    plan: _Plan
    data: AnyBuffer
    name: str | None
    options: ReadOptions
    size: int
    part: tuple[int, int] | None
    arguments: tuple[Any, ...] = ()
    check: bool = False

    def reader(self) -> FormatReader:
        plan = self.plan
        rows = plan.filling.rows(self.data, self.options, self.arguments, self.part)
        if self.part not in (None, (0, -1)) and (rows is None or self.check or plan.filling.whole):
            reason = "which does not check them" if self.check else "which was not built"
            if plan.filling.whole:
                reason = "and columns need data after them"
            raise ValueError(f"part: rows are counted by the native reader, {reason}")
        backend = "pure" if rows is None else "native"
        reader = FormatReader(plan.schema, plan.rows, dict(plan.left_out), backend, iter(()))
        if self.check and rows is not None:
            reader.through_objects = "what follows from bytes is checked"
        if rows is None or self.check:
            reader._batches = _filtered(self.pure(), plan.test, plan.shown)
        else:
            reader._batches = self.native(rows, reader)
        return reader

    def pure(self) -> Iterator[pa.RecordBatch]:
        return _pure(
            lambda: self.format._objects(
                self.plan, self.data, self.options, self.arguments, check=self.check
            ),
            self.plan.columns,
            self.name,
            self.size,
        )

    def native(self, rows: Any, reader: FormatReader) -> Iterator[pa.RecordBatch]:
        """Batches of the native reader. Data that it refuses is left to pure Python, which goes on or
        raises."""
        plan = self.plan
        yielded, status = 0, "end"
        for batch, batch_status in plan.filling.batches(rows, self.size, BATCH_BYTES):
            status = batch_status
            if batch.num_rows:
                for part in _filtered(iter([batch]), plan.test, plan.shown):
                    yielded += part.num_rows
                    yield part
        if status == "stopped":
            if self.part not in (None, (0, -1)):
                # other parts are read elsewhere: the whole file shows the error
                for _ in self.pure():
                    pass
                raise Malformed(plan.rows, "rows do not all have as many bytes", at=0)
            for part in _filtered(self.pure(), plan.test, plan.shown):
                if yielded < part.num_rows:
                    reader.through_objects = self.format._reason(rows.stopped())
                    yield part.slice(yielded)
                yielded = max(0, yielded - part.num_rows)
            # objects are read to the end: the bytes were right
            reader.through_objects = self.format._reason(rows.stopped())


def _loaded(path: Path, overlays: Iterable[str], import_path: Sequence[Path]) -> tuple[str, Modules]:
    """The path of a schema among its files, and its modules: those of the cache, if nothing has changed."""
    from kodec.formats.cache import cache_folder, has_streams, indexed, modules_of
    from kodec.formats.index import Entry, Lookups

    overlay_list = [overlays] if isinstance(overlays, str) else list(overlays)
    entry = Entry(cache_folder(), path.resolve(), overlay_list, import_path)
    cached = indexed(entry)
    if cached is not None:
        return cached
    from kodec.formats.collect import add_overlays, collect

    looked = Lookups()
    name, files = collect(path, import_path, looked)
    add_overlays(files, overlay_list, looked)
    modules = modules_of(files, streams=has_streams(files))
    entry.write(name, files, looked)
    return name, modules


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
        path: of a `.ksy` file; the schemas that it imports are found around it. Or of a plan (`Format.save`).
        overlays: files with further keys (`x.overlay.yaml`), or ids of schemas for which kodec has one. An
            overlay beside a schema is found by itself.
        import_path: further folders in which imports are found, after those around the file.

    Returns: the format; its `read` and `scan` read files.
    Raises: SchemaError (a KodecError) with all problems of the schema; ValueError for an overlay
        that does not exist or is of another schema; MissingDependency; OSError.

    Example:
        >>> import kodec
        >>> format = kodec.formats.load_schema("/data/schemas/sensor_log.ksy")
        >>> format.id
        'sensor_log'
    """
    try:
        folders = [import_path] if isinstance(import_path, (str, os.PathLike)) else import_path
        return Format(Path(path), overlays, [Path(folder) for folder in folders])
    except ImportError as error:
        if isinstance(error, MissingDependency):
            raise
        if error.name not in ("jinja2", "yaml", "ruff"):
            raise
        raise MissingDependency(f"this needs `{error.name}`: {install_command('generator')}") from error


def objects_of(
    source: Readable,
    schema: Format | str | os.PathLike[str],
    path: str | None = None,
    *,
    import_path: Iterable[str | os.PathLike[str]] = (),
    parameters: Mapping[str, Any] | None = None,
    options: ReadOptions = DEFAULT_READ,
    most_bytes: int = MOST_BYTES,
) -> Iterator[Any]:
    """The objects that arrive on a pipe or a socket, each as soon as its last byte is there.

    If the outermost type of the schema ends with a list, they are its elements, else one object of that type
    after another. Memory is bounded: bytes of earlier objects are dropped. Positions before them cannot be
    read, nor the size of the stream, and derived fields that cover more than an object are not checked.

    Args:
        source: a socket, or a file opened for reading in binary, with `read1` or unbuffered.
        schema: a format, or what `load_schema` takes.
        path: another list of the outermost type, or of an object that it holds: `body.rows`; "" for one
            object of the outermost type after another.
        import_path: further folders in which imports are found.
        parameters: of the outermost type, as in `Format.read`.
        options: limits of the reader.
        most_bytes: the most bytes of one object.

    Returns: an iterator of objects, whose attributes are the fields.
    Raises: SchemaError; ValueError for a path that cannot be read one by one, and for parameters;
        MissingDependency; OSError.
        While reading: FormatError, with the place in the stream, also if that ends in an object; ReadFailed.

    Example:
        >>> import io, pathlib, tempfile
        >>> import kodec
        >>> schema = pathlib.Path(tempfile.mkdtemp()) / "message.ksy"
        >>> _ = schema.write_text("{meta: {id: message}, seq: [{id: len, type: u1}, {id: body, size: len}]}")
        >>> source = io.BytesIO(bytes([2]) + b"hi" + bytes([1]) + b"x")
        >>> [each.body for each in kodec.formats.objects_of(source, schema)]
        [b'hi', b'x']
    """
    format = schema if isinstance(schema, Format) else load_schema(schema, import_path=import_path)
    return format._each(source, path, options, most_bytes, parameters)[1]


def _require_pyarrow() -> None:
    """Raises: MissingDependency."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingDependency(f"columns need `pyarrow`: {install_command('arrow')}") from error


def attribute_of(name: str) -> str:
    from kodec.generator.targets.python.names import attribute

    attribute_name: str = attribute(name)
    return attribute_name


def bytes_of(source: Source) -> tuple[AnyBuffer, str | None]:
    """All bytes, and the file's name, if known."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), None
    if isinstance(source, (str, os.PathLike)):
        path = as_stored(readable(source))
        with path.open("rb") as file:
            return _content(file, path), str(path)
    return _all_of(source, getattr(source, "name", None)), None


def _content(file: BinaryIO, path: Path) -> AnyBuffer:
    """All of an open file; a large one is mapped. Of an object a copy is mapped, in the folder `TMPDIR`."""
    if isinstance(path, StorePath):
        if path.stat().st_size < MAPPED_BYTES:
            return _all_of(file, str(path))
        import shutil
        import tempfile

        with tempfile.TemporaryFile(prefix="kodec-object-") as copy:
            shutil.copyfileobj(file, copy, MAPPED_BYTES >> 3)
            copy.flush()
            # nobody else has the copy
            return mmap(copy.fileno(), 0, access=ACCESS_READ)
    facts = os.fstat(file.fileno())
    if stat.S_ISREG(facts.st_mode) and facts.st_size >= MAPPED_BYTES:
        if os.name == "nt":
            # where a file that is mapped cannot be cut
            return mmap(file.fileno(), 0, access=ACCESS_READ)
        if (guard := native_module("mapping")) is not None:
            return _Mapped.of(file, str(path), guard)
    return _all_of(file, str(path))


class _Mapped(mmap):
    """A mapped file, which others may cut while it is read; what is behind its end then reads as zeros."""

    path: str
    guard: ModuleType
    number: int = -1

    @classmethod
    def of(cls, file: BinaryIO, path: str, guard: ModuleType) -> _Mapped:
        mapped = cls(file.fileno(), 0, access=ACCESS_READ)
        mapped.path, mapped.guard = path, guard
        mapped.number = guard.guard(mapped)
        return mapped

    def __del__(self) -> None:
        if self.number >= 0:
            self.guard.release(self.number)

    def require(self) -> None:
        """Raises ReadFailed if the file was cut since."""
        if self.size() < len(self) or self.guard.is_cut(self.number):
            raise ReadFailed("the file was cut while it was read", errno.EIO, self.size(), self.path)


@contextmanager
def _whole(data: AnyBuffer) -> Iterator[None]:
    """What is read inside counts, also as an error, only if the file was not cut meanwhile."""
    try:
        yield
    finally:
        if isinstance(data, _Mapped):
            data.require()


def _batches_of(batches: Iterator[pa.RecordBatch], data: _Mapped) -> Iterator[pa.RecordBatch]:
    while True:
        with _whole(data):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _all_of(file: BinaryIO, name: object) -> bytes:
    shown = name if isinstance(name, str) else None
    try:
        return file.read()
    except OSError as error:
        raise ReadFailed.of(error, source=shown) from error


def _schema_of(columns: Iterable[Column]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(column.name, column.type) for column in columns])


def _filtered(
    batches: Iterator[pa.RecordBatch], test: Comparison | Test | None, shown: int
) -> Iterator[pa.RecordBatch]:
    """The rows that fulfil a condition, without the columns that only it needs."""
    for batch in batches:
        if test is None:
            yield batch
            continue
        by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
        filtered = batch.filter(test.mask(by_name)).select(range(shown))
        if filtered.num_rows:
            yield filtered


def _pure(
    objects: Callable[[], Iterator[Any]], columns: list[Column], name: str | None, size: int
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        for some in _portions(objects(), size):
            arrays = [_array(column, some) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])
            del some, arrays
    except FormatError as error:
        raise error.in_source(name) from error.__cause__


def _portions(rows: Iterator[Any], most: int) -> Iterator[list[Any]]:
    """Rows for one batch after another: up to the maximum number, or some megabytes. Those before damage are
    given before its error."""
    some: list[Any] = []
    size = 0
    damage = None
    try:
        for row in rows:
            some.append(row)
            size += row._stop - row._start if isinstance(row, StreamNode) else 0
            if len(some) >= most or size >= BATCH_BYTES:
                yield some
                some, size = [], 0
    except FormatError as error:
        damage = error
    if some:
        yield some
    if damage is not None:
        raise damage


def _array(column: Column, rows: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        array = column.array(rows)
        if isinstance(array, pa.ChunkedArray):
            raise Unsupported(column.name, "more than 2 GiB in one batch: ask for smaller ones", at=0)
        return array
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        for row in rows:
            try:
                column.array([row])
            except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
                position = getattr(row, "_start", None) or 0
                reason = f"a value does not fit a column of {column.type}"
                raise Malformed(column.name, reason, at=position) from error
        raise Unsupported(column.name, f"the column is too large: {error}", at=0) from error


def _native(
    kernel: Any,
    data: AnyBuffer,
    columns: list[Column],
    options: ReadOptions,
    size: int,
    pure: Callable[[int], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """Batches of a kernel. Data that it refuses is left to pure Python, which goes on or raises."""
    import pyarrow as pa

    names = [column.name for column in columns]
    rows = kernel.Rows(names, check=options.check_crc, rows=size, elements=options.elements)
    schema = _schema_of(columns)
    yielded = position = 0
    while True:
        status, position = rows.run(data, position, len(data))
        if status not in ("end", "ok", "full"):
            break
        texts = rows.not_ascii
        array = cast("pa.StructArray", pa.array(rows.take()))
        batch = pa.RecordBatch.from_arrays(array.flatten(), names=names)
        if texts:
            try:
                batch.validate(full=True)
            except pa.ArrowInvalid:
                # text that is not UTF-8
                break
        if batch.num_rows:
            yielded += batch.num_rows
            yield batch.cast(schema) if batch.schema != schema else batch
        if status != "full":
            return
    yield from pure(yielded)
