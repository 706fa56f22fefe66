"""Files of a log directory: names, listing, paths, checkpoints, indexes, locks, durable writes."""

import os
import re
from pathlib import Path

from kodec.stores.storage import StorePath, register_place

# a segment, a partition's folder, and those of the namespace and of its topics
_OF_REDPANDA = re.compile(r"/(?:[0-9]+-[0-9]+-v1\.log|[0-9]+_[0-9]+|kafka(?:/[^/]+)?)\Z")


def _point(path: Path) -> Path:
    """A path in a point of a backup as a `PointPath`, which reads what the point refers to."""
    if "/points/" not in (text := str(path)) and not text.startswith("points/"):
        return path
    from kodec.log.files.backup_point import PointPath, as_point

    return path if isinstance(path, PointPath) else as_point(path) or path


def _redpanda(path: Path) -> Path:
    """A path in a data directory of Redpanda as a `RedpandaPath`, which shows its logs as Kafka's."""
    if isinstance(path, StorePath):
        return path
    # in strings, as this is asked of each file of a log directory
    text = str(path)
    if "/" not in text or text.endswith(".."):
        text = os.path.abspath(text)  # noqa: PTH100  # `resolve` follows links
    if _OF_REDPANDA.search(text) is None and not os.path.isdir(f"{text}/kafka"):  # noqa: PTH112
        return path
    from kodec.log.files.redpanda_view import as_redpanda

    return as_redpanda(path) or path


register_place(_point)
register_place(_redpanda)
