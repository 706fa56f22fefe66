"""The records that make a cluster's metadata: topics, their configs, and the rest that a new cluster takes
over.

Followed: `TopicImage.write`, `ConfigurationImage.write`, `ProducerIdsImage.write` and
`PartitionRegistration.toRecord` of Kafka 4.3, and the record versions of `MetadataVersion`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from kodec.generated.metadata.config_record import ConfigRecord
from kodec.generated.metadata.partition_record import PartitionRecord
from kodec.generated.metadata.producer_ids_record import ProducerIdsRecord
from kodec.generated.metadata.register_broker_record import RegisterBrokerRecord
from kodec.generated.metadata.topic_record import TopicRecord
from kodec.log.messages.decoding import framed
from kodec.runtime.dataclass import dataclass, field

__all__ = ["NewPartition", "NewTopic", "producer_ids", "register", "topic_records"]

# Kafka's levels of `metadata.version` from which records have more.
_IN_SHUTDOWN, _MIGRATING, _DIRECTORIES, _ELIGIBLE = 7, 8, 17, 23
_TOPIC = 2
_UNASSIGNED = UUID(int=1)


@dataclass(slots=True)
class NewPartition:
    """A partition of a topic to be made.

    Attributes:
        partition: its number. leader_epoch: at least that of each batch.
        replicas: the brokers, the first one preferred. directories: the log directory of each; None if
        unknown.

    Example: see `plan_rebuild`.
    """

    partition: int
    leader_epoch: int
    replicas: list[int]
    directories: list[UUID | None]


@dataclass(slots=True)
class NewTopic:
    """A topic to be made.

    Attributes:
        name, topic_id: which one. configs: its own settings. partitions: by number.

    Example: see `plan_rebuild`.
    """

    name: str
    topic_id: UUID
    configs: Mapping[str, str]
    partitions: list[NewPartition] = field(default_factory=list)


def topic_records(topics: Sequence[NewTopic], level: int) -> Iterator[bytes]:
    """The records of topics, for a `metadata.version`.

    No partition has a leader: the controller elects one when a replica's broker has registered.
    """
    version = 2 if level >= _ELIGIBLE else 1 if level >= _DIRECTORIES else 0
    for topic in topics:
        yield framed(TopicRecord(name=topic.name, topic_id=topic.topic_id), 0)
        for partition in topic.partitions:
            record = PartitionRecord(
                partition_id=partition.partition,
                topic_id=topic.topic_id,
                replicas=partition.replicas,
                isr=partition.replicas,
                leader=-1,
                leader_epoch=partition.leader_epoch,
                partition_epoch=0,
            )
            if version:
                record.directories = [directory or _UNASSIGNED for directory in partition.directories]
            yield framed(record, version)
        for name, value in topic.configs.items():
            yield config(_TOPIC, topic.name, name, value)


def config(kind: int, resource: str, name: str, value: str) -> bytes:
    """A setting of a resource."""
    return framed(ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value), 0)


def producer_ids(next_id: int) -> bytes:
    """The first producer id that a broker may assign."""
    return framed(ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=next_id), 0)


def register(node: int, epoch: int, directories: list[UUID], level: int) -> bytes:
    """A broker as after a clean shutdown in this epoch, which its clean-shutdown marker has too.

    With eligible leader replicas (KIP-966), a broker that has not shut down cleanly leaves all ISRs.
    """
    record: Any = RegisterBrokerRecord(
        broker_id=node, incarnation_id=uuid4(), broker_epoch=epoch, rack=None, fenced=True
    )
    version = 0
    for least in (_IN_SHUTDOWN, _MIGRATING, _DIRECTORIES):
        version += level >= least
    if level >= _DIRECTORIES:
        record.log_dirs = directories
    return framed(record, version)
