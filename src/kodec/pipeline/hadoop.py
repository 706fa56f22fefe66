"""What Hadoop's settings say of S3, for the library that this package reads stores with.

The source for the JVM passes them on with a query that it hands over, so that a log that it reads can be read
in Python too. Only what both have in common is taken: keys, the endpoint, the region.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kodec.stores.context import S3Settings

__all__ = ["s3_settings"]

_NAMES = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint.region": "region",
}
_ANONYMOUS = "AnonymousAWSCredentialsProvider"


def s3_settings(settings: Mapping[str, str]) -> S3Settings | None:
    """The settings of buckets that settings of Hadoop mean; None without any.

    Args:
        settings: `fs.s3a.access.key` and others, with lowercase names; unknown ones have no effect.
    """
    return _OfBucket(tuple(sorted(settings.items()))) if settings else None


@dataclass(frozen=True)
class _OfBucket:
    """The settings of a bucket: its own (`fs.s3a.bucket.NAME.endpoint`), else those of all."""

    settings: tuple[tuple[str, str], ...] = field(repr=False)

    def __call__(self, bucket: str) -> Mapping[str, str | bool]:
        known = dict(self.settings)

        def get(name: str) -> str:
            bucket_value = known.get(f"fs.s3a.bucket.{bucket}.{name}")
            return (bucket_value or known.get(f"fs.s3a.{name}", "")).strip()

        options: dict[str, str | bool] = {
            ours: value for name, ours in _NAMES.items() if (value := get(name))
        }
        if endpoint := get("endpoint"):
            scheme = "http" if get("connection.ssl.enabled").lower() == "false" else "https"
            options["endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        if _ANONYMOUS in get("aws.credentials.provider"):
            options["skip_signature"] = True
        return options
