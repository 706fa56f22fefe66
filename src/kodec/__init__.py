"""Codecs for Apache Kafka's record formats, generated from Kaitai schemas: the few names a user needs."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kodec import api, errors, formats, operations, repair, results, values
    from kodec.api import *  # noqa: F403  # the names, for type checkers

    __all__ = ["__version__", "errors", "formats", "operations", "repair", "results", "values"]
    __all__ += api.__all__
else:
    _MODULES = ("errors", "formats", "operations", "repair", "results", "values")

    def __getattr__(name: str) -> object:
        """The public names, all imported when one is first asked for; the modules, each by itself.

        `kodec generate` asks for none: it has to run where the modules that it made before do not.
        """
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"kodec.{name}")
        api = import_module("kodec.api")
        found = {each: getattr(api, each) for each in api.__all__}
        globals().update(found, __all__=["__version__", *_MODULES, *api.__all__])
        if name not in globals():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=api)
        return globals()[name]

    def __dir__() -> list[str]:
        __getattr__("__all__")
        return sorted(globals())
