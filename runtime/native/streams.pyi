from collections.abc import Callable
from types import ModuleType
from typing import Any

from kodec.runtime.streams import ByteSource, StreamNode

class Node:
    """What every object has besides its fields. It stays while somebody has a part of it."""

    _around: Any
    _outer: Any
    _io: Any
    _rare: Any
    _start: int
    _stop: int
    _depth: int
    _freed: bool
    _is_le: bool | None

    def __post_init__(self) -> None: ...
    def __del__(self) -> None: ...

class Unit:
    def __init__(self, cls: type, table: Callable[[], dict[type, dict[str, Any]]]) -> None: ...
    def read(self, node: StreamNode, stream: ByteSource) -> bool: ...
    def whole(self, cls: type, data: object, options: object) -> Any: ...
    def instance(self, node: StreamNode, name: str, stream: ByteSource) -> Any: ...

class Rows:
    def __init__(
        self,
        cls: type,
        path: tuple[tuple[str | None, type | None], ...],
        group: tuple[Any, ...],
        columns: int,
        conditions: tuple[tuple[Any, ...], ...],
        row: type | None,
        names: frozenset[str],
        decode: Callable[..., bytes],
        whole: bool,
    ) -> None: ...
    def open(
        self, data: Any, limits: tuple[int, int, int], parameters: tuple[Any, ...], part: tuple[int, int], /
    ) -> None: ...
    def close(self) -> None: ...
    def run(self, rows: int, size: int) -> tuple[str, int, Any, int]: ...
    def fixed(self) -> tuple[int, int]: ...
    def stopped(self) -> type | None: ...

def begin(module: ModuleType) -> None: ...
def is_free(entry: list[object]) -> bool: ...
