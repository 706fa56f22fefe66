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
            found = read_metadata_snapshot(paths[0])
        else:
            found = read_metadata(*paths, end_offset=before_offset)
        for name in topic or []:
            if found.topic(name) is None:
                Outcome(found.omissions).end(json=json)
                raise Missing(f"no topic {name} in the metadata at offset {found.end_offset}")
    topics = [each for each in found.topics if topic is None or each.name in topic]
    if json:
        for facts in _facts(found, topics, only=topic is not None):
            output.show(output.as_json(facts))
    else:
        _print(found, topics, Layout(wide=wide), only=topic is not None)
    # A record of an unknown type may change the rest, so Kafka refuses it.
    raise Exit(Outcome(found.omissions).end(json=json))


def _hidden(configs: dict[str, str]) -> dict[str, str]:
    return {name: "(hidden)" if name.endswith(_SECRET) else value for name, value in configs.items()}


def _facts(found: ClusterMetadata, topics: list[Topic], *, only: bool) -> Iterator[dict[str, object]]:
    if only:
        yield from map(_topic_facts, topics)
        return
    yield {
        "kind": "cluster",
        "endOffset": found.end_offset,
        "leaderEpoch": found.epoch,
        "leader": found.leader,
        "timestamp": found.timestamp,
        "snapshot": None if found.snapshot is None else found.snapshot.name,
        "features": found.features,
        "voters": [{"id": each, "directoryId": id_text(directory)} for each, directory in found.voters],
        "nextProducerId": found.next_producer_id,
        "openTransaction": found.open_transaction,
    }
    for each in found.brokers:
        yield _broker_facts("broker", each)
    for each in found.controllers:
        yield _broker_facts("controller", each)
    yield from map(_topic_facts, topics)
    for (kind, name), configs in found.configs.items():
        if kind != "topic":
            yield {"kind": "configs", "resource": kind, "name": name, "configs": _hidden(configs)}
    for entity, quotas in found.quotas:
        yield {"kind": "quota", "entity": dict(entity), "quotas": quotas}
    for acl in found.acls:
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
    for user, mechanism, iterations in found.users:
        yield {"kind": "user", "name": user, "mechanism": mechanism, "iterations": iterations}
    for token in found.tokens:
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


def _topic_facts(each: Topic) -> dict[str, object]:
    return {
        "kind": "topic",
        "topic": each.name,
        "topicId": id_text(each.topic_id),
        "configs": _hidden(each.configs),
        "partitions": [_partition_facts(one) for one in each.partitions],
    }


def _partition_facts(each: PartitionAssignment) -> dict[str, object]:
    return {
        "partition": each.partition,
        "leader": each.leader,
        "leaderEpoch": each.leader_epoch,
        "partitionEpoch": each.partition_epoch,
        "replicas": each.replicas,
        "isr": each.isr,
        "addingReplicas": each.adding,
        "removingReplicas": each.removing,
        "elr": each.elr,
        "lastKnownElr": each.last_known_elr,
        "directories": [id_text(one) for one in each.directories],
        "recovering": each.recovering,
    }


def _broker_facts(kind: str, each: Broker) -> dict[str, object]:
    facts: dict[str, object] = {
        "kind": kind,
        "id": each.id,
        "incarnationId": id_text(each.incarnation_id),
        "endpoints": [
            {"name": name, "host": host, "port": port, "securityProtocol": security}
            for name, host, port, security in each.endpoints
        ],
        "features": {name: list(levels) for name, levels in each.features.items()},
    }
    if kind == "broker":
        facts |= {
            "epoch": each.epoch,
            "rack": each.rack,
            "fenced": each.fenced,
            "inControlledShutdown": each.in_controlled_shutdown,
            "logDirs": [id_text(one) for one in each.log_dirs],
            "cordonedLogDirs": [id_text(one) for one in each.cordoned_log_dirs],
        }
    return facts


def _print(found: ClusterMetadata, topics: list[Topic], layout: Layout, *, only: bool) -> None:
    since = "the start of the log" if found.snapshot is None else found.snapshot.name
    output.show(f"metadata up to offset {found.end_offset}, epoch {found.epoch}, from {since}")
    if not only:
        output.show("features: " + ", ".join(f"{name} {level}" for name, level in found.features.items()))
        if found.open_transaction is not None:
            output.show(f"an open metadata transaction: {found.open_transaction}")
        print_table(
            output.count(len(found.brokers), "broker"),
            ["broker", "epoch", "endpoints", "rack", "state"],
            [
                [
                    each.id,
                    each.epoch,
                    " ".join(f"{name}://{host}:{port}" for name, host, port, _ in each.endpoints),
                    each.rack,
                    "fenced" if each.fenced else "in shutdown" if each.in_controlled_shutdown else "active",
                ]
                for each in found.brokers
            ],
            left="endpoints, rack, state",
            layout=layout,
        )
        _print_rest(found)
    print_table(
        output.count(len(topics), "topic"),
        ["topic", "id", "partitions", "configs"],
        [
            [
                each.name,
                id_text(each.topic_id),
                len(each.partitions),
                ", ".join(f"{name}={value}" for name, value in _hidden(each.configs).items()),
            ]
            for each in topics
        ],
        left="topic, id, configs",
        layout=layout,
    )
    partitions = [(each.name, one) for each in topics for one in each.partitions]
    print_table(
        output.count(len(partitions), "partition"),
        ["topic", "partition", "leader", "leader epoch", "replicas", "in sync", "elr", "moves"],
        [
            [
                name,
                each.partition,
                each.leader,
                each.leader_epoch,
                _listed(each.replicas),
                _listed(each.isr),
                _listed(each.elr),
                " ".join([*(f"+{one}" for one in each.adding), *(f"-{one}" for one in each.removing)]),
            ]
            for name, each in partitions
        ],
        left="topic, replicas, in sync, elr, moves",
        least="elr, moves, leader epoch",
        layout=layout,
    )


def _listed(brokers: list[int]) -> str:
    return ",".join(map(str, brokers))


def _print_rest(found: ClusterMetadata) -> None:
    for (kind, name), configs in found.configs.items():
        if kind != "topic":
            values = ", ".join(f"{key}={value}" for key, value in _hidden(configs).items())
            output.show(f"configs of {kind} {name or '(default)'}: {values}")
    for entity, quotas in found.quotas:
        who = " ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in entity)
        output.show(f"quota of {who}: " + ", ".join(f"{key}={value:g}" for key, value in quotas.items()))
    for each in found.acls:
        output.show(
            f"{each.permission} {each.principal} from {each.host}: {each.operation} on {each.resource_type} "
            f"{each.pattern_type} {each.resource_name}"
        )
    for name, mechanism, iterations in found.users:
        output.show(f"user {name}: {mechanism}, {iterations} iterations")
    for token in found.tokens:
        output.show(f"token {token.token_id} of {token.owner}, until {moment(token.expiration_timestamp)}")
