"""Histories of three replicas of a topic-partition: leaders change, followers lag and truncate, disks are
damaged."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import kodec
from kodec.log.files.checkpoints import LeaderEpoch, write_leader_epochs, write_offsets
from kodec.log.files.listing import TopicPartition
from tests.log import made

OWNER = TopicPartition("topic", 0)
# Before it no checksum counts: offset, length, epoch and magic.
_COVERED = 21


@dataclass(frozen=True)
class Written:
    """A batch that a leader has written."""

    first: int
    last: int
    epoch: int
    data: bytes


def written(first: int, epoch: int, value: bytes, records: int = 3, compression: str = "none") -> Written:
    """A batch of some records."""
    rows = [kodec.Record(key=b"%d" % n, value=value, timestamp=made.START) for n in range(records)]
    data = kodec.encode(rows, base_offset=first, partition_leader_epoch=epoch, compression=compression)
    return Written(first, first + records - 1, epoch, data)


@dataclass
class Member:
    """A replica: its log, its leader epochs, and what of its log is still good on its disk."""

    log: list[Written] = field(default_factory=list)
    epochs: list[LeaderEpoch] = field(default_factory=list)
    high_watermark: int = 0
    good: list[Written] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.log[-1].last + 1 if self.log else 0

    def append(self, batch: Written) -> None:
        if not self.epochs or self.epochs[-1].epoch < batch.epoch:
            self.epochs.append(LeaderEpoch(batch.epoch, batch.first))
        self.log.append(batch)

    def truncate(self, end: int) -> None:
        self.log = [each for each in self.log if each.last < end]
        self.epochs = [each for each in self.epochs if each.start_offset < end]
        self.high_watermark = min(self.high_watermark, end)

    def follow(self, leader: Member, most: int) -> None:
        """Truncate to the leader's lineage, as a broker does, and fetch up to `most` batches."""
        same = 0
        while same < min(len(self.log), len(leader.log)) and self.log[same] == leader.log[same]:
            same += 1
        self.truncate(self.log[same - 1].last + 1 if same else 0)
        for batch in leader.log[same : same + most]:
            self.append(batch)


def history(chance: random.Random) -> list[Member]:
    """Three replicas after some elections, clean and unclean."""
    members = [Member() for _ in range(3)]
    for epoch in range(chance.randint(2, 5)):
        leader = chance.choice(members)
        # one of an unclean election has not seen this epoch's leader before it
        followers = [each for each in members if each is not leader and chance.random() < 0.7]
        for _ in range(chance.randint(1, 4)):
            for _ in range(chance.randint(1, 4)):
                leader.append(
                    written(leader.end, epoch, chance.randbytes(chance.randint(1, 60)), chance.randint(1, 5))
                )
            for each in followers:
                each.follow(leader, chance.randint(0, 12))
            committed = min(each.end for each in (leader, *followers))
            for each in (leader, *followers):
                each.high_watermark = max(each.high_watermark, min(committed, each.end))
    return members


def write(member: Member, root: Path, chance: random.Random) -> Path:
    """The replica's log directory, without damage."""
    folder = root / str(OWNER)
    folder.mkdir(parents=True)
    bases = sorted({0, *(each.first for each in member.log if chance.random() < 0.2)})
    segments = [
        (base, [each.data for each in member.log if base <= each.first and (end is None or each.first < end)])
        for base, end in zip(bases, [*bases[1:], None], strict=True)
    ]
    made.make(folder, segments)
    write_leader_epochs(folder / "leader-epoch-checkpoint", member.epochs)
    write_offsets(root / "replication-offset-checkpoint", {OWNER: member.high_watermark})
    member.good = list(member.log)
    return folder


def damage(member: Member, folder: Path, chance: random.Random) -> None:
    """Flipped bits, lost blocks, deleted segments, a torn tail; and which batches are good afterwards."""
    for path in sorted(folder.glob("*.log")):
        base = int(path.stem)
        mine = [each for each in member.log if each.first >= base]
        bases = [int(other.stem) for other in folder.glob("*.log")]
        after = min((other for other in bases if other > base), default=None)
        mine = [each for each in mine if after is None or each.first < after]
        data = bytearray(path.read_bytes())
        assert bytes(data) == b"".join(each.data for each in mine)
        if not mine:
            continue
        how = chance.randrange(6)
        ends, at = [], 0
        for each in mine:
            at += len(each.data)
            ends.append(at)
        number = chance.randrange(len(mine))
        start = ends[number] - len(mine[number].data)
        lost = {number}
        if how == 0:
            data[chance.randrange(start + _COVERED, ends[number])] ^= 1 << chance.randrange(8)
        elif how == 1:
            last = min(number + chance.randint(0, 2), len(mine) - 1)
            begin = chance.randrange(start + 17, ends[number])
            data[begin : ends[last]] = chance.randbytes(ends[last] - begin)
            lost = set(range(number, last + 1))
        elif how == 2:
            del data[chance.randrange(start + 1, ends[number]) :]
            lost = set(range(number, len(mine)))
        elif how == 3 and base:
            path.unlink()
            lost = set(range(len(mine)))
        else:
            continue
        gone = [mine[each] for each in lost]
        member.good = [each for each in member.good if each not in gone]
        if path.exists():
            path.write_bytes(data)


def right(members: list[Member]) -> list[Written]:
    """The lineage that counts, before the damage: that of the newest epoch, with or without a batch."""
    newest = max((each.epoch for member in members for each in member.epochs), default=-1)
    holders = [member for member in members if any(each.epoch == newest for each in member.epochs)]
    return max((member.log for member in holders), key=lambda log: log[-1].last, default=[])
