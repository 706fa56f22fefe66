"""Arguments and options of verbs: a verb is a function, whose signature shows what it takes.

Each parameter is annotated with its type and an `Argument` or `Option`. Types are bool (a flag), int, float,
str, Path, an Enum (one of its values), a list of one of these (may be given several times), and any of these
or None. A parameter without a default is required.

argparse of the standard library was measured: importing it takes 8 ms in a bare interpreter, and it would
replace about 60 of these lines (`parsed`, `_placed`), while its errors, hints, help and completion would have
to be written again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path
from stat import S_ISDIR
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from kodec.cli.lines import warn
from kodec.runtime.near import meant
from kodec.stores.context import DEFAULT, Context, Keys, Notes
from kodec.stores.storage import StorePath, archive_note, on_this_machine, readable

__all__ = [
    "HELP",
    "Argument",
    "BadParameter",
    "Command",
    "Exit",
    "HelpWanted",
    "Option",
    "Parameter",
    "UsageError",
]

HELP = ("--help", "-h")
_KINDS = {bool: "", int: "integer", float: "number", str: "text"}
# No more digits than Python converts, and no `1_000`.
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")


class Exit(Exception):
    """The verb ends with this exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__(code)
        self.code = code


class UsageError(Exception):
    """Something on the command line is wrong."""


class BadParameter(UsageError):
    """What a verb reports about its arguments and options: a value, or how they go together."""

    def __str__(self) -> str:
        return f"Invalid value: {super().__str__()}"


class HelpWanted(Exception):
    """Help was asked for."""


class _Declared:
    """What a verb's signature states about a parameter besides its type and default.

    Attributes:
        name: of the option, as `--name`; by default that of the parameter.
        help: what it is for, for people.
        metavar: what stands for the value in the help.
        least, most: of a number.
        exists, file_okay, dir_okay: of a path; `dash` allows `-`, which is standard input, and `urls` what is
            in an object store, whether it is there or not. Without `logs` it is no log, part of which
            may be in remote storage; `replicas` if each path is a replica of its own, remote storage too.
        one_of: the values that there are.
    """

    def __init__(
        self,
        name: str = "",
        *,
        help: str = "",
        metavar: str = "",
        min: float | None = None,
        max: float | None = None,
        exists: bool = False,
        file_okay: bool = True,
        dir_okay: bool = True,
        dash: bool = False,
        urls: bool = False,
        logs: bool = True,
        replicas: bool = False,
        one_of: Sequence[str] = (),
    ) -> None:
        self.name, self.help, self.metavar = name, help, metavar
        self.least, self.most = min, max
        self.exists, self.file_okay, self.dir_okay, self.dash = exists, file_okay, dir_okay, dash
        self.urls, self.logs, self.replicas = urls, logs, replicas
        self.one_of = one_of


class Argument(_Declared):
    """A parameter that is known by its place."""


class Option(_Declared):
    """A parameter that is known by its name."""


_TIER: dict[str, Any] = {
    "tier": Annotated[
        Path | None,
        Option(
            "--tier",
            metavar="PATH",
            exists=True,
            file_okay=False,
            urls=True,
            help="Remote storage that has the earlier segments.",
        ),
    ],
}
_TIER_KEYS: dict[str, Any] = {
    "tier_key": Annotated[
        Path | None,
        Option(
            "--tier-key",
            metavar="FILE",
            exists=True,
            help="Private key (PEM) of encrypted remote storage, or a folder with <id>.pem.",
        ),
    ],
    "tier_key_command": Annotated[
        str | None,
        Option("--tier-key-command", metavar="CMD", help="Command that prints the private key."),
    ],
}


class Parameter:
    """A parameter of a verb.

    Attributes:
        key: its name in Python.
        name: `--name` of an option; of an argument what stands for it in the help.
        declared: what the signature states.
        type: of one value.
        several: whether it is a list.
        required: whether there is no default.
        default: the value where none is given.
    """

    def __init__(self, key: str, hint: Any, *default: object) -> None:
        hint, declared = get_args(hint)
        if get_origin(hint) is UnionType:
            (hint,) = (member for member in get_args(hint) if member is not NoneType)
        self.several = get_origin(hint) is list
        self.type: type = get_args(hint)[0] if self.several else hint
        self.key = key
        self.declared: Argument | Option = declared
        self.is_option = isinstance(declared, Option)
        self.required, self.default = not default, default[0] if default else None
        shown = key.replace("_", "-")
        self.name: str = declared.name or f"--{shown}" if self.is_option else declared.metavar or key.upper()

    @property
    def is_flag(self) -> bool:
        """Whether it is an option without a value."""
        return self.type is bool

    @property
    def values(self) -> Sequence[str]:
        """The values that there are; empty where there are more."""
        return (
            [member.value for member in self.type] if issubclass(self.type, Enum) else [*self.declared.one_of]
        )

    @property
    def kind(self) -> str:
        """What a value is, in a word, or the values that there are; empty for a flag."""
        if self.is_flag:
            return ""
        if self.values:
            return "|".join(self.values)
        if self.type is Path:
            is_file, is_folder = not self.declared.dir_okay, not self.declared.file_okay
            return "file" if is_file else "folder" if is_folder else "path"
        return _KINDS[self.type]

    @property
    def value_name(self) -> str:
        """What stands for the value of an option in the help; empty for a flag."""
        return self.declared.metavar or (self.kind if self.values else self.kind.upper())

    @property
    def help(self) -> str:
        """What it is for."""
        return self.declared.help

    @property
    def shown_default(self) -> str:
        """The default for people; empty if there is none, or if the help has it."""
        value = self.default.value if isinstance(self.default, Enum) else self.default
        return "" if value in (None, False) or "default:" in self.help else str(value)

    @property
    def limits(self) -> str:
        """Of a number, in a word or two; empty where it has none."""
        low, high = self.declared.least, self.declared.most
        if low is None:
            return "" if high is None else f"at most {high}"
        return f"at least {low}" if high is None else f"{low} to {high}"

    @property
    def is_of_logs(self) -> bool:
        """Whether it names logs."""
        rules = self.declared
        return rules.logs and (rules.exists and rules.urls if self.is_option else rules.exists or rules.urls)

    def converted(self, text: str, context: Context = DEFAULT) -> object:
        """The value that a text means; `context` is what paths of logs bring along. Raises UsageError."""
        if self.type is str:
            if self.declared.one_of and text not in self.declared.one_of:
                raise self._none_of(text)
            return text
        if self.type is Path:
            return self._path(text, context)
        if issubclass(self.type, Enum):
            try:
                return self.type(text)
            except ValueError:
                raise self._none_of(text) from None
        return self._number(text)

    def _wrong(self, text: str) -> UsageError:
        return UsageError(f"Invalid value for '{self.name}': {text}")

    def _none_of(self, text: str) -> UsageError:
        *others, last = self.values
        return self._wrong(f"expected {', '.join(others)} or {last}, not {text!r}")

    def _path(self, text: str, context: Context) -> Path:
        rules = self.declared
        if rules.dash and text == "-":
            return Path(text)
        try:
            if self.is_of_logs:
                # needs generated modules, which `generate` makes and therefore must not need
                from kodec.log.remote.opening import open_location

                path = open_location(text, context) if rules.urls else on_this_machine(open_location(text))
            else:
                path = readable(text) if rules.urls else on_this_machine(text)
        except ValueError as error:
            raise self._wrong(str(error)) from None
        if isinstance(path, StorePath):
            # what is wrong with it whoever reads it learns
            return path
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            if rules.exists:
                raise self._wrong(f"{text} does not exist") from None
            return path
        except OSError as error:
            raise self._wrong(f"{text}: {error.strerror}") from None
        if not rules.file_okay and not S_ISDIR(mode):
            raise self._wrong(f"{text} is {archive_note(text) or 'a file'}")
        if not rules.dir_okay and S_ISDIR(mode):
            raise self._wrong(f"{text} is a directory")
        if rules.exists and not os.access(path, os.R_OK):
            raise self._wrong(f"{text} cannot be read: permission denied")
        return path

    def _number(self, text: str) -> float:
        try:
            if self.type is int and not _INTEGER.fullmatch(text):
                raise ValueError
            number: float = self.type(text)
        except ValueError:
            raise self._wrong(f"{text!r} is not {'an integer' if self.type is int else 'a number'}") from None
        low, high = self.declared.least, self.declared.most
        # not the other way round: nan is neither
        if not (number == number and (low is None or number >= low) and (high is None or number <= high)):
            raise self._wrong(f"{text} is not {self.limits or 'a number'}")
        return number


class Command:
    """A verb: `name`, and the function that is called with what is parsed."""

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        self.name, self.function = name, function

    @cached_property
    def parameters(self) -> Sequence[Parameter]:
        """In the order of the signature."""
        hints = get_type_hints(self.function, include_extras=True)
        hints.pop("return", None)
        defaults: tuple[object, ...] = getattr(self.function, "__defaults__", None) or ()
        required = len(hints) - len(defaults)
        assert all(get_origin(hint) is Annotated for hint in hints.values())
        parameters = [
            Parameter(
                key, hint, *defaults[index - required : index - required + 1] if index >= required else ()
            )
            for index, (key, hint) in enumerate(hints.items())
        ]
        of_logs = (
            parameter for parameter in parameters if parameter.declared.urls and parameter.declared.logs
        )
        if paths := [
            parameter
            for parameter in of_logs
            if not parameter.is_option or (parameter.required and parameter.declared.exists)
        ]:
            # what reads logs may find encrypted ones
            joins = all(
                parameter.declared.dir_okay and not parameter.declared.replicas for parameter in paths
            )
            keys = _TIER | _TIER_KEYS if joins else _TIER_KEYS
            parameters += [Parameter(key, hint, None) for key, hint in keys.items()]
        return parameters

    @property
    def arguments(self) -> list[Parameter]:
        """Parameters that are known by their place."""
        return [parameter for parameter in self.parameters if not parameter.is_option]

    @property
    def options(self) -> list[Parameter]:
        """Parameters that are known by their name."""
        return [parameter for parameter in self.parameters if parameter.is_option]

    @property
    def text(self) -> str:
        """What it does, for people: the docstring."""
        return (self.function.__doc__ or "").strip()

    @property
    def usage(self) -> str:
        """How it is called, in a line."""
        words = [
            argument.name if argument.required else f"[{argument.name.strip('[]')}]"
            for argument in self.arguments
        ]
        return " ".join(["kodec", self.name, "[OPTIONS]", *words])

    def run(self, words: Sequence[str]) -> object:
        """Call the function. Raises UsageError, HelpWanted, and what the function raises."""
        notes = Notes()
        values = self.parsed(words, notes)
        for key in _TIER_KEYS:
            values.pop(key, None)
        tier = values.pop("tier", None)
        try:
            for argument in self.arguments:
                if argument.declared.urls:
                    values[argument.key] = _with_tier(values[argument.key], tier)
            return self.function(**values)
        finally:
            # what answers from remote storage depend on
            for text in notes.take():
                warn(f"kodec: note: {text}")

    def parsed(self, words: Sequence[str], notes: Notes | None = None) -> dict[str, object]:
        """What the function is called with; paths of logs bring the notes. Raises UsageError, HelpWanted."""
        texts_by_key = self._texts(words)
        keys = _tier_keys(*(texts_by_key.get(key, [None])[-1] for key in _TIER_KEYS))
        context = Context(keys, notes=notes) if notes is not None else Context(keys)
        values_by_key: dict[str, object] = {}
        # in the order in which they were given, of which the first that is wrong is reported
        parameters = {parameter.key: parameter for parameter in self.parameters}
        for key, texts in texts_by_key.items():
            values = [
                True if parameters[key].is_flag else parameters[key].converted(text, context)
                for text in texts
            ]
            values_by_key[key] = values if parameters[key].several else values[-1]
        for parameter in self.parameters:
            if parameter.key not in values_by_key:
                if parameter.required:
                    raise UsageError(
                        f"Missing {'option' if parameter.is_option else 'argument'} '{parameter.name}'."
                    )
                values_by_key[parameter.key] = parameter.default
        return values_by_key

    def _texts(self, words: Sequence[str]) -> dict[str, list[str]]:
        """The words that are given for each parameter, in their order. Raises UsageError, HelpWanted."""
        texts_by_key: dict[str, list[str]] = {}
        options = {option.name: option for option in self.options}
        places: list[str] = []
        remaining = iter(words)
        for word in remaining:
            if word == "--":
                places += remaining
            elif not word.startswith("-") or word == "-":
                places.append(word)
            elif word in HELP:
                raise HelpWanted
            else:
                name, equals, text = word.partition("=")
                option = options.get(name)
                if option is None:
                    raise UsageError(f"No such option: {name}{_instead(name, options)}")
                if option.is_flag:
                    if equals:
                        raise UsageError(f"Option '{name}' does not take a value.")
                    texts_by_key.setdefault(option.key, []).append(text)
                    continue
                if not equals and (text := next(remaining, None)) is None:  # type: ignore[assignment]
                    raise UsageError(f"Option '{name}' requires an argument.")
                texts_by_key.setdefault(option.key, []).append(text)
        return texts_by_key | {argument.key: texts for argument, texts in self._placed(places) if texts}

    def _placed(self, words: list[str]) -> Iterator[tuple[Parameter, list[str]]]:
        """Arguments with their words: one that may be given several times takes what the others leave."""
        arguments, all_words = self.arguments, list(words)
        spare = len(words) - sum(not argument.several for argument in arguments)
        for argument in arguments:
            number = max(spare, 0) if argument.several else 1
            yield argument, words[:number]
            del words[:number]
        if words:
            hint = "; name a schema with --schema" if any(map(self._is_schema, all_words)) else ""
            raise UsageError(
                f"Got unexpected extra argument{'s' * (len(words) > 1)}: {' '.join(words)}{hint}"
            )

    def _is_schema(self, word: str) -> bool:
        return word.endswith(".ksy") and any(option.name == "--schema" for option in self.options)


def _instead(name: str, options: Iterable[str]) -> str:
    """What to do where there is no such option."""
    if name in ("--dry-run", "-n") and "--apply" in options:
        return "; without --apply nothing is changed, only shown"
    if name == "--apply" and "--dry-run" in options:
        return "; it is done at once, without --dry-run"
    return meant(name, [*options, HELP[0]])


def _tier_keys(file: str | None, command: str | None) -> Keys | None:
    """The private key for remote storage; None where none is given. Raises UsageError for two."""
    if file is None and command is None:
        return None
    if None not in (file, command):
        raise UsageError("Give one of --tier-key and --tier-key-command.")
    # as above
    from kodec.log.remote.keys import TierKeys

    return TierKeys(None if file is None else Path(file), command)


def _with_tier(value: Any, tier: Any) -> Any:
    """The paths of an argument, or its only one, with remote storage."""
    paths = value if isinstance(value, list) else [value]
    if tier is None and len(paths) < 2:
        return value
    # as above, and nobody else waits for it
    from kodec.log.remote.names import holds_metadata

    if tier is None and not any(map(holds_metadata, paths)):
        return value
    from kodec.log.remote.one_log import tiers_beside_logs, with_remote_storage

    try:
        locations = tiers_beside_logs(paths) if tier is None else with_remote_storage(*paths, tier=tier)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return locations if isinstance(value, list) else locations[0]
