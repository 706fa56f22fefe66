"""The Kaitai project's JSON schema of .ksy files: where it is kept here, and how to get it.

It is MIT-licensed and lives in a repository of its own (kaitai-io/ksy_schema), in no package; so pip and
npm cannot lock it, and one commit of it is named here with its hash instead.

    python tests/ksc/ksy_schema.py      download it to .cache/ksy_schema.json
"""

from __future__ import annotations

import hashlib
import sys
import urllib.request
from pathlib import Path

COMMIT = "959e6f782179cb614a41b2beeec15153ed136b3c"
SHA256 = "9ca22936569e90d4f7993c31e78144ab74c5c3cfd5eef099a05463f21aeac488"
URL = f"https://raw.githubusercontent.com/kaitai-io/ksy_schema/{COMMIT}/ksy_schema.json"
PLACE = Path(__file__).resolve().parent.parent.parent / ".cache" / "ksy_schema.json"


def check(data: bytes) -> bytes:
    """The data themselves. Raises: ValueError if they are not the schema of that commit."""
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise ValueError(f"ksy_schema.json has SHA-256 {found}, not {SHA256}")
    return data


def read() -> bytes | None:
    """The schema's text, or None if it was not downloaded. Raises: ValueError if it is another one."""
    return check(PLACE.read_bytes()) if PLACE.is_file() else None


def download() -> None:
    """Put the schema into its place. Raises: OSError, ValueError."""
    with urllib.request.urlopen(URL, timeout=30) as answer:
        data = check(answer.read(1 << 20))
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    PLACE.write_bytes(data)


if __name__ == "__main__":
    try:
        download()
    except (OSError, ValueError) as error:
        sys.exit(f"{URL}: {error}")
    print(PLACE)
