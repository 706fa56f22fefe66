"""Makes the inputs that fuzzing starts from, of the logs in tests/data: python inputs.py FOLDER [MOST]."""

from __future__ import annotations

import contextlib
import hashlib
import random
import struct
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import kodec
from kodec.errors import FormatError
from kodec.generated.log import message_set, record_batch
from kodec.log.batches.batch import Batch
from kodec.runtime.compression import compress, decompress
from kodec.runtime.fields import ReadOptions

LOGS = Path(__file__).resolve().parents[1] / "data"
LARGEST = 3000
START = 12
"""Where the length of an entry ends, from which it counts."""
HEAD_ONLY = ReadOptions(check_crc=False)
KERNELS = ("record_batch", "message_set", "codecs")
_CHECK, _EVERYTHING, _FILTERED, _REPAIR, _WALK, _SCARCE, _STRAIGHT, _CUT = (1 << bit for bit in range(8))
FLAGS = (
    _CHECK | _EVERYTHING,
    _CHECK,
    _REPAIR | _CHECK,
    _REPAIR | _EVERYTHING | _CUT,
    _REPAIR | _FILTERED | _CHECK,
    _WALK | _CHECK,
    _REPAIR | _SCARCE | _EVERYTHING,
    _STRAIGHT | _EVERYTHING,
)
"""The first byte of an input, as target.h has it."""


def options(dice: random.Random, flags: int, batch: Batch) -> bytes:
    """The head of an input, as target.h takes it apart."""
    wanted = dice.choice((0xFFFF, 0xFFFF, dice.randrange(64)))
    picks = bytes(dice.choice((0, 0, dice.randrange(8))) for _ in range(4))
    column = dice.randrange(2)
    least = (batch.last_offset, batch.max_timestamp)[column] - dice.randrange(3)
    most = least + dice.randrange(4)
    edges = struct.pack(">QQ", least % 2**64, most % 2**64)
    wanted ^= dice.randrange(2) << 15  # whether to stop where rows are not for users
    return struct.pack("<BH", flags, wanted) + picks + bytes((dice.randrange(40), column)) + edges


def plain(batch: Batch) -> bytes:
    """The entry with its content decompressed but called compressed, as a target takes it."""
    if batch.magic == 2:
        head, _ = record_batch.read_record_batch_head(batch.data, 0, batch.size, HEAD_ONLY)
        codec, content = record_batch.codec_of_record_batch(head), head.records
    else:
        message = message_set.read_message_head(batch.data, START, batch.size, HEAD_ONLY)[0]
        codec, content = message_set.codec_of_message(message), message.value
    assert isinstance(content, bytes)
    at = batch.size - len(content)
    data = bytearray(batch.data[:at] + decompress(codec, content, limit=LARGEST))
    struct.pack_into(">i", data, START - 4, len(data) - START)
    return bytes(data)


def units() -> Iterator[Batch]:
    """Small entries of every log, few of each kind."""
    seen: dict[object, int] = defaultdict(int)
    for path in sorted([*LOGS.rglob("*.log"), *LOGS.glob("differential/*.bin")]):
        for batch in kodec.read_batches(path, on_error="skip", check_crc=False):
            if batch.size > LARGEST:
                continue
            count = batch.count if batch.magic == 2 else 1
            kind = batch.magic, batch.codec, batch.attributes, min(count, 3), path.parts[len(LOGS.parts)]
            seen[kind] += 1
            if seen[kind] <= 3:
                yield batch


def packed(dice: random.Random) -> Iterator[bytes]:
    """What the codecs' target takes: runs of many lengths, from many distances, some over several blocks."""
    for size in (0, 1, 5, 13, 60, 400, 3000, 40_000, 140_000):
        for pattern in (1, 2, 3, 7, 8, 15, 16, 33, 70, 300):
            words = [dice.randbytes(pattern) for _ in range(3)]
            data = b"".join(dice.choice(words) for _ in range(size // pattern))
            for which, codec in enumerate(("snappy", "lz4")):
                made = compress(codec, data)
                if len(made) < LARGEST:
                    yield bytes((which | 20 << 1,)) + made


def inputs(kernel: str) -> Iterator[bytes]:
    """Inputs for one kernel's target, the same ones each time."""
    dice = random.Random(kernel)
    if kernel == "codecs":
        yield from packed(dice)
        return
    before = b""
    for batch in units():
        if kernel != ("record_batch" if batch.magic == 2 else "message_set"):
            continue
        made = [batch.data]
        if batch.codec != "none":
            with contextlib.suppress(FormatError):
                made.append(plain(batch))
        for data in made:
            yield options(dice, dice.choice(FLAGS), batch) + data
            if len(before) + len(data) < LARGEST:
                yield options(dice, dice.choice(FLAGS), batch) + before + data
            before = data


def main(folder: Path, most: int) -> None:
    for kernel in KERNELS:
        into = folder / kernel
        into.mkdir(parents=True, exist_ok=True)
        found = list(dict.fromkeys(inputs(kernel)))
        for data in random.Random(0).sample(found, min(most, len(found))):
            (into / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10**6)
