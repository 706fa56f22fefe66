from collections.abc import Callable
from typing import Any

from kodec.runtime.messages import Wire

class Message:
    def __init__(
        self,
        cls: type,
        rows: tuple[Wire, ...],
        peers: dict[type, Any],
        defaults: Callable[[type, tuple[Wire, ...]], tuple[tuple[object, bool], ...]],
    ) -> None: ...

class Function:
    __wrapped__: Any
    def __init__(self, message: Message, name: str, plain: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Method:
    __wrapped__: Any
    def __init__(self, message: Message, name: str, plain: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
