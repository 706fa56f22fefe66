"""The part of `dataclasses` that kodec uses, without its imports; methods are compiled on first use.

The standard module takes longer to import than Python takes to start, and needs half a millisecond per class.
A class made here behaves the same: `dataclasses.fields`, `replace`, `asdict` and `is_dataclass` accept it.
Type checkers see the standard module.
"""

from __future__ import annotations

from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING

__all__ = ["MISSING", "dataclass", "field", "fields", "is_dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
else:
    MISSING = object()

    class _Factory:
        def __repr__(self):
            return "<factory>"

    _FACTORY = _Factory()

    class _Field:
        """A field as declared in its class."""

        __slots__ = ("compare", "default", "default_factory", "hash", "init", "kw_only", "name", "repr")

        def __init__(
            self, *, default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None, compare=True
        ):
            self.name, self.kw_only = "", False
            self.default, self.default_factory = default, default_factory
            self.init, self.repr, self.compare = init, repr, compare
            self.hash = compare if hash is None else hash

        @property
        def is_optional(self):
            return self.default is not MISSING or self.default_factory is not MISSING

    def field(**options):
        """Declare a field whose default is computed for each object, or that some methods ignore."""
        return _Field(**options)

    def fields(value):
        """The fields of a class or object, with their `name`, `default`, `default_factory` and `compare`."""
        if hasattr(value, "_kodec_fields"):
            return value._kodec_fields
        from dataclasses import fields

        return tuple(map(_of_standard, fields(value)))

    def _of_standard(each):
        from dataclasses import MISSING as missing

        found = _Field(init=each.init, repr=each.repr, compare=each.compare, hash=each.hash)
        found.name, found.kw_only = each.name, each.kw_only
        for name in ("default", "default_factory"):
            if getattr(each, name) is not missing:
                setattr(found, name, getattr(each, name))
        return found

    def is_dataclass(value):
        """Whether `value` is a data class or an object of one."""
        kind = value if isinstance(value, type) else type(value)
        return any("__dataclass_fields__" in base.__dict__ for base in kind.__mro__)

    def replace(value, /, **changes):
        """A copy in which some fields have other values. Raises TypeError for a name that is not a field."""
        return value.__replace__(**changes)

    def dataclass(
        cls=None, /, *, repr=True, eq=True, frozen=False, slots=False, kw_only=False, unsafe_hash=False
    ):
        """As `dataclasses.dataclass`."""

        def made(cls):
            return _made(cls, repr, eq, frozen, slots, kw_only, unsafe_hash)

        return made if cls is None else made(cls)

    def _made(cls, repr, eq, frozen, slots, kw_only, unsafe_hash):
        inherited = {}
        for base in reversed(cls.__mro__[1:]):
            inherited |= {each.name: each for each in base.__dict__.get("_kodec_fields", ())}
        own = {}
        for name, hint in cls.__annotations__.items():
            if "ClassVar" in str(hint).partition("[")[0]:
                continue
            default = cls.__dict__.get(name, MISSING)
            own[name] = found = default if isinstance(default, _Field) else _Field(default=default)
            found.name, found.kw_only = name, kw_only
            if isinstance(default, _Field) or slots:
                if found.default is not MISSING and not slots:
                    setattr(cls, name, found.default)
                elif name in cls.__dict__:
                    delattr(cls, name)
        every = (inherited | own).values()
        if slots:
            cls = _with_slots(cls, own, frozen)
        cls._kodec_fields = tuple(every)
        cls.__dataclass_params__ = _Params(frozen)
        cls.__dataclass_fields__ = _StandardFields(cls)
        cls.__match_args__ = tuple(each.name for each in every if each.init and not each.kw_only)
        methods = {"__init__": _LazyInit(cls)}
        methods |= {"__repr__": _repr_of(every)} if repr else {}
        methods |= {"__eq__": _eq_of(every)} if eq else {}
        for name, method in methods.items():
            if name not in cls.__dict__:
                setattr(cls, name, method)
        cls.__replace__ = __replace__
        if unsafe_hash or (frozen and eq):
            if unsafe_hash or cls.__dict__.get("__hash__") is None:
                cls.__hash__ = _hash_of(every)
        elif eq and "__hash__" not in cls.__dict__:
            cls.__hash__ = None
        if frozen:
            names = frozenset(each.name for each in every)
            cls.__setattr__, cls.__delattr__ = _refusals(cls, names)
        return cls

    class _Params:
        """The attribute that the standard module reads from the bases of a class."""

        def __init__(self, frozen):
            self.frozen = frozen

    def _with_slots(cls, own, frozen):
        """A copy of the class with slots for its own fields."""
        taken = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
        body = {name: each for name, each in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
        body["__slots__"] = slots = _Slots((name, None) for name in own if name not in taken)
        made = slots.cls = type(cls)(cls.__name__, cls.__bases__, body)
        made.__qualname__ = cls.__qualname__
        if frozen:
            made.__getstate__, made.__setstate__ = _state, _set_state
        return made

    class _Slots(dict):
        """The slots of a class with their docstrings, which `help` shows: read from its source on demand."""

        def __getitem__(self, name):
            if self.cls is not None:
                cls, self.cls = self.cls, None
                self.update((each, doc) for each, doc in _field_docs(cls) if each in self)
            return super().__getitem__(name)

    def _field_docs(cls):
        """The fields of a class that are followed by a docstring, with it."""
        import ast
        import inspect
        from itertools import pairwise
        from textwrap import dedent

        try:
            body = ast.parse(dedent(inspect.getsource(cls))).body[0].body
        except (OSError, TypeError, SyntaxError):
            return  # there is no source
        for line, after in pairwise(body):
            if isinstance(line, ast.AnnAssign) and isinstance(after, ast.Expr):
                yield line.target.id, inspect.cleandoc(str(ast.literal_eval(after.value)))

    def _state(self):
        return [getattr(self, each.name) for each in self._kodec_fields]

    def _set_state(self, state):
        for each, value in zip(self._kodec_fields, state, strict=True):
            object.__setattr__(self, each.name, value)

    def __replace__(self, /, **changes):
        for each in self._kodec_fields:
            if each.init:
                changes.setdefault(each.name, getattr(self, each.name))
            elif each.name in changes:
                raise TypeError(f"field {each.name} is declared with init=False")
        return self.__class__(**changes)

    class _LazyInit:
        """`__init__`, compiled on first use."""

        def __init__(self, cls):
            self.cls = cls

        def __get__(self, value, owner):
            cls = self.cls
            if isinstance(cls.__dict__["__init__"], _LazyInit):
                cls.__init__ = _init_of(cls)
            return cls.__dict__["__init__"].__get__(value, owner)

    def _init_of(cls):
        names = {"_FACTORY": _FACTORY, "_set": object.__setattr__}
        own = "__dataclass_self__" if any(each.name == "self" for each in cls._kodec_fields) else "self"
        positional, named, lines = [own], [], []
        for each in cls._kodec_fields:
            value = name = each.name
            if each.default_factory is not MISSING:
                names[f"_factory_{name}"] = each.default_factory
                value = f"_factory_{name}()"
                if each.init:
                    value += f" if {name} is _FACTORY else {name}"
            elif each.default is not MISSING:
                names[f"_default_{name}"] = each.default
                value = name if each.init else f"_default_{name}"
            elif not each.init:
                continue
            if each.init:
                given = "_FACTORY" if each.default_factory is not MISSING else f"_default_{name}"
                parameter = f"{name}={given}" if each.is_optional else name
                (named if each.kw_only else positional).append(parameter)
            if cls.__dataclass_params__.frozen:
                lines.append(f"_set({own}, {name!r}, {value})")
            else:
                lines.append(f"{own}.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append(f"{own}.__post_init__()")
        parameters = ", ".join([*positional, *(["*", *named] if named else [])])
        body = "\n ".join(lines or ["pass"])
        exec(f"def __init__({parameters}):\n {body}", names)
        made = names["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        made.__module__ = cls.__module__
        hints = {each.name: _hint(cls, each.name) for each in cls._kodec_fields if each.init}
        made.__annotations__ = {**hints, "return": None}
        return made

    def _hint(cls, name):
        return next(base.__annotations__[name] for base in cls.__mro__ if name in base.__annotations__)

    def _values_of(names):
        """A function that returns the values of these fields as a tuple."""
        if len(names) > 1:
            return attrgetter(*names)
        return lambda value: tuple(getattr(value, name) for name in names)

    def _repr_of(every):
        names = [each.name for each in every if each.repr]

        def __repr__(self):
            shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{self.__class__.__qualname__}({shown})"

        return recursive_repr()(__repr__)

    def _eq_of(every):
        values = _values_of([each.name for each in every if each.compare])

        def __eq__(self, other):
            if other.__class__ is self.__class__:
                return values(self) == values(other)
            return NotImplemented

        return __eq__

    def _hash_of(every):
        values = _values_of([each.name for each in every if each.hash])

        def __hash__(self):
            return hash(values(self))

        return __hash__

    def _refusals(cls, names):
        def __setattr__(self, name, value):
            if type(self) is cls or name in names:
                raise _frozen(f"cannot assign to field {name!r}")
            super(cls, self).__setattr__(name, value)

        def __delattr__(self, name):
            if type(self) is cls or name in names:
                raise _frozen(f"cannot delete field {name!r}")
            super(cls, self).__delattr__(name)

        return __setattr__, __delattr__

    def _frozen(text):
        from dataclasses import FrozenInstanceError

        return FrozenInstanceError(text)

    class _StandardFields:
        """`__dataclass_fields__`: the fields of an equal standard dataclass, made on first use."""

        def __init__(self, cls):
            self.cls = cls

        def __get__(self, value, owner):
            import dataclasses

            cls = self.cls
            body = {"__annotations__": {}, "__module__": cls.__module__}
            for each in cls._kodec_fields:
                body["__annotations__"][each.name] = _hint(cls, each.name)
                options = {"init": each.init, "repr": each.repr, "compare": each.compare}
                if each.default is not MISSING:
                    options["default"] = each.default
                if each.default_factory is not MISSING:
                    options["default_factory"] = each.default_factory
                if each.hash is not each.compare:
                    options["hash"] = each.hash
                body[each.name] = dataclasses.field(**options, kw_only=each.kw_only)
            standard = dataclasses.dataclass(type(cls.__name__, (), body), eq=False)
            found = cls.__dataclass_fields__ = standard.__dataclass_fields__
            return found
