"""Bytes that Kafka's own classes made, with the contents: kept, so that they are read where no Java is.

python tests/labs/messages/vectors.py      make tests/data/messages/vectors.jsonl anew
"""

from __future__ import annotations

import base64
import json
import random
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "differential")]

import jvm  # noqa: E402  # next to this file
from contents import random_document  # noqa: E402
from message_judge import KAFKA, SOURCE, MessageJudge  # noqa: E402
from scale import stored  # noqa: E402

from kodec.importer.places import place_of  # noqa: E402
from kodec.importer.schemas import snake  # noqa: E402

FILE = HERE.parents[1] / "data" / "messages" / "vectors.jsonl"
EACH = 3


def vectors() -> list[dict[str, Any]]:
    """Some of each version of each stored message; the first with the default of every field that has one."""
    found = []
    with MessageJudge() as judge:
        for message in stored(jvm.jars(KAFKA, SOURCE.parent)):
            place = place_of(message)
            for version in message.valid:
                for number in range(EACH):
                    rng = random.Random(f"vectors/{message.name}/{version}/{number}")
                    document = random_document(rng, message, version)
                    data = judge.write(message.name, place.frame, document, version)
                    found.append(
                        {
                            "module": f"{place.folder}.{snake(message.name)}",
                            "name": message.name,
                            "version": version,
                            "given": place.frame == "given",
                            "bytes": base64.b64encode(data).decode(),
                            "document": document,
                        }
                    )
    return found


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text("".join(json.dumps(each, sort_keys=True) + "\n" for each in vectors()))
    print(FILE)
