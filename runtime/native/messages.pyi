from collections.abc import Callable
from typing import Any

class Message:
    def __init__(
        self,
        cls: type,
        lines: str,
        peers: dict[str, Any],
        parse: Callable[[type, str], tuple[tuple[object, ...], ...]],
    ) -> None: ...

class Function:
    __wrapped__: Any
    def __init__(self, message: Message, name: str, plain: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Method:
    __wrapped__: Any
    def __init__(self, message: Message, name: str, plain: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
