"""Which types have parts that the native reader leaves to Python objects, and why."""

from __future__ import annotations

from collections.abc import Mapping

from kodec.generator.schema.model import Model
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["fallbacks"]


def fallbacks(model: Model) -> Mapping[str, str]:
    """The reasons by the full names of types. Raises: MissingDependency."""
    try:
        from kodec.generator.targets.python.streams.tables import beyond_native
    except ImportError as error:
        raise MissingDependency(f"this needs `{error.name}`: {install_command('generator')}") from error
    return {name: "; ".join(reasons) for name, reasons in beyond_native(model).items()}
