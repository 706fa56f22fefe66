"""Files of a log directory: names, listing, paths, checkpoints, indexes, locks, durable writes."""

from pathlib import Path

from kodec.stores.storage import register_place


def _point(path: Path) -> Path:
    """A path in a point of a backup as a `PointPath`, which reads what the point refers to."""
    if "/points/" not in (text := str(path)) and not text.startswith("points/"):
        return path
    from kodec.log.files.backup_point import PointPath, as_point

    return path if isinstance(path, PointPath) else as_point(path) or path


register_place(_point)
