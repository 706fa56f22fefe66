"""kodec metadata: shows topics, brokers and configs of a KRaft cluster at an offset of its metadata log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Missing, Outcome, errors_reported
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.selection import TOPICS, refuse_archives
from kodec.cli.tables import WIDE, Layout, print_table
from kodec.cli.views import id_text, moment
from kodec.log.views.metadata import (
    Broker,
    ClusterMetadata,
    PartitionAssignment,
    Topic,
    read_metadata,
    read_metadata_snapshot,
)

__all__ = ["metadata"]

_SECRET = (".password", "sasl.jaas.config", "ssl.keystore.key", ".secret")


def metadata(
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH...", exists=True, urls=True, help="log.dirs folders, or one snapshot (.checkpoint)."
        ),
    ],
    before_offset: Annotated[
        int | None, Option("--before-offset", help="Only records below this offset.", min=0)
    ] = None,
    topic: Annotated[list[str] | None, TOPICS] = None,
    json: Annotated[
        bool, Option("--json", help="One JSON object for the cluster, then one for each item.")
    ] = False,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show a KRaft cluster's metadata: features, brokers, topics with ids, configs, replicas and leaders.

    From the newest snapshot of __cluster_metadata at or below the offset, and the log after it.
    Secrets in configs are hidden; kodec dump --decode shows each record as it is.

    example:  kodec metadata /data/kafka-logs --topic orders

    exit:     0 done   1 something is damaged or unknown   2 no such topic, no metadata, bad usage
    """
    refuse_archives(paths)
    with errors_reported():
        if len(paths) == 1 and paths[0].is_file():
            if before_offset is not None:
                raise BadParameter("--before-offset needs log directories")
            cluster = read_metadata_snapshot(paths[0])
        else:
            cluster = read_metadata(*paths, end_offset=before_offset)
        for name in topic or []:
            if cluster.topic(name) is None:
                Outcome(cluster.omissions).end(json=json)
                raise Missing(f"no topic {name} in the metadata at offset {cluster.end_offset}")
    topics = [candidate for candidate in cluster.topics if topic is None or candidate.name in topic]
    if json:
        for facts in _facts(cluster, topics, only=topic is not None):
            output.show(output.as_json(facts))
    else:
        _print_tables(cluster, topics, Layout(wide=wide), only=topic is not None)
    # A record of an unknown type may change the rest, so Kafka refuses it.
    raise Exit(Outcome(cluster.omissions).end(json=json))


def _hidden(configs: dict[str, str]) -> dict[str, str]:
    return {name: "(hidden)" if name.endswith(_SECRET) else value for name, value in configs.items()}


def _facts(cluster: ClusterMetadata, topics: list[Topic], *, only: bool) -> Iterator[dict[str, object]]:
    if only:
        yield from map(_topic_facts, topics)
        return
    yield {
        "kind": "cluster",
        "endOffset": cluster.end_offset,
        "leaderEpoch": cluster.epoch,
        "leader": cluster.leader,
        "timestamp": cluster.timestamp,
        "snapshot": None if cluster.snapshot is None else cluster.snapshot.name,
        "features": cluster.features,
        "voters": [{"id": voter, "directoryId": id_text(directory)} for voter, directory in cluster.voters],
        "nextProducerId": cluster.next_producer_id,
        "openTransaction": cluster.open_transaction,
    }
    for broker in cluster.brokers:
        yield _broker_facts("broker", broker)
    for controller in cluster.controllers:
        yield _broker_facts("controller", controller)
    yield from map(_topic_facts, topics)
    for (kind, name), configs in cluster.configs.items():
        if kind != "topic":
            yield {"kind": "configs", "resource": kind, "name": name, "configs": _hidden(configs)}
    for entity, quotas in cluster.quotas:
        yield {"kind": "quota", "entity": dict(entity), "quotas": quotas}
    for acl in cluster.acls:
        yield {
            "kind": "acl",
            "permission": acl.permission,
            "principal": acl.principal,
            "host": acl.host,
            "operation": acl.operation,
            "resourceType": acl.resource_type,
            "resourceName": acl.resource_name,
            "patternType": acl.pattern_type,
        }
    for user, mechanism, iterations in cluster.users:
        yield {"kind": "user", "name": user, "mechanism": mechanism, "iterations": iterations}
    for token in cluster.tokens:
        yield {
            "kind": "token",
            "tokenId": token.token_id,
            "owner": token.owner,
            "requester": token.requester,
            "renewers": token.renewers,
            "issueTimestamp": token.issue_timestamp,
            "maxTimestamp": token.max_timestamp,
            "expirationTimestamp": token.expiration_timestamp,
        }


def _topic_facts(topic: Topic) -> dict[str, object]:
    return {
        "kind": "topic",
        "topic": topic.name,
        "topicId": id_text(topic.topic_id),
        "configs": _hidden(topic.configs),
        "partitions": [_partition_facts(partition) for partition in topic.partitions],
    }


def _partition_facts(partition: PartitionAssignment) -> dict[str, object]:
    return {
        "partition": partition.partition,
        "leader": partition.leader,
        "leaderEpoch": partition.leader_epoch,
        "partitionEpoch": partition.partition_epoch,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "addingReplicas": partition.adding,
        "removingReplicas": partition.removing,
        "elr": partition.elr,
        "lastKnownElr": partition.last_known_elr,
        "directories": [id_text(directory) for directory in partition.directories],
        "recovering": partition.recovering,
    }


def _broker_facts(kind: str, broker: Broker) -> dict[str, object]:
    facts: dict[str, object] = {
        "kind": kind,
        "id": broker.id,
        "incarnationId": id_text(broker.incarnation_id),
        "endpoints": [
            {"name": name, "host": host, "port": port, "securityProtocol": security}
            for name, host, port, security in broker.endpoints
        ],
        "features": {name: list(levels) for name, levels in broker.features.items()},
    }
    if kind == "broker":
        facts |= {
            "epoch": broker.epoch,
            "rack": broker.rack,
            "fenced": broker.fenced,
            "inControlledShutdown": broker.in_controlled_shutdown,
            "logDirs": [id_text(identity) for identity in broker.log_dirs],
            "cordonedLogDirs": [id_text(log_dir) for log_dir in broker.cordoned_log_dirs],
        }
    return facts


def _print_tables(cluster: ClusterMetadata, topics: list[Topic], layout: Layout, *, only: bool) -> None:
    since = "the start of the log" if cluster.snapshot is None else cluster.snapshot.name
    output.show(f"metadata up to offset {cluster.end_offset}, epoch {cluster.epoch}, from {since}")
    if not only:
        output.show("features: " + ", ".join(f"{name} {level}" for name, level in cluster.features.items()))
        if cluster.open_transaction is not None:
            output.show(f"an open metadata transaction: {cluster.open_transaction}")
        print_table(
            output.count(len(cluster.brokers), "broker"),
            ["broker", "epoch", "endpoints", "rack", "state"],
            [
                [
                    broker.id,
                    broker.epoch,
                    " ".join(f"{name}://{host}:{port}" for name, host, port, _ in broker.endpoints),
                    broker.rack,
                    "fenced"
                    if broker.fenced
                    else "in shutdown"
                    if broker.in_controlled_shutdown
                    else "active",
                ]
                for broker in cluster.brokers
            ],
            left_aligned="endpoints, rack, state",
            layout=layout,
        )
        _print_rest(cluster)
    print_table(
        output.count(len(topics), "topic"),
        ["topic", "id", "partitions", "configs"],
        [
            [
                topic.name,
                id_text(topic.topic_id),
                len(topic.partitions),
                ", ".join(f"{name}={value}" for name, value in _hidden(topic.configs).items()),
            ]
            for topic in topics
        ],
        left_aligned="topic, id, configs",
        layout=layout,
    )
    partitions = [(topic.name, partition) for topic in topics for partition in topic.partitions]
    print_table(
        output.count(len(partitions), "partition"),
        ["topic", "partition", "leader", "leader epoch", "replicas", "in sync", "elr", "moves"],
        [
            [
                name,
                partition.partition,
                partition.leader,
                partition.leader_epoch,
                _listed(partition.replicas),
                _listed(partition.isr),
                _listed(partition.elr),
                " ".join(
                    [
                        *(f"+{broker}" for broker in partition.adding),
                        *(f"-{broker}" for broker in partition.removing),
                    ]
                ),
            ]
            for name, partition in partitions
        ],
        left_aligned="topic, replicas, in sync, elr, moves",
        least="elr, moves, leader epoch",
        layout=layout,
    )


def _listed(brokers: list[int]) -> str:
    return ",".join(map(str, brokers))


def _print_rest(cluster: ClusterMetadata) -> None:
    for (kind, name), configs in cluster.configs.items():
        if kind != "topic":
            values = ", ".join(f"{key}={value}" for key, value in _hidden(configs).items())
            output.show(f"configs of {kind} {name or '(default)'}: {values}")
    for entity, quotas in cluster.quotas:
        who = " ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in entity)
        output.show(f"quota of {who}: " + ", ".join(f"{key}={value:g}" for key, value in quotas.items()))
    for acl in cluster.acls:
        output.show(
            f"{acl.permission} {acl.principal} from {acl.host}: {acl.operation} on {acl.resource_type} "
            f"{acl.pattern_type} {acl.resource_name}"
        )
    for name, mechanism, iterations in cluster.users:
        output.show(f"user {name}: {mechanism}, {iterations} iterations")
    for token in cluster.tokens:
        output.show(f"token {token.token_id} of {token.owner}, until {moment(token.expiration_timestamp)}")
