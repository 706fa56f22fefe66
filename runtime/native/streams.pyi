from collections.abc import Callable
from typing import Any

from kodec.runtime.streams import ByteSource, StreamNode

class Unit:
    def __init__(self, cls: type, table: Callable[[], dict[type, dict[str, Any]]]) -> None: ...
    def read(self, node: StreamNode, stream: ByteSource) -> bool: ...
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
