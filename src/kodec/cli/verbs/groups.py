"""kodec groups: shows groups and their members."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.tables import COLUMNS, WIDE, Layout, print_table
from kodec.cli.views import GROUPS, LOG_DIRS, id_text, missing_group
from kodec.log.views.groups import Assigned, Group, GroupMember, read_groups

__all__ = ["list_groups"]


def list_groups(
    paths: Annotated[list[Path], LOG_DIRS],
    group: Annotated[list[str] | None, GROUPS] = None,
    members: Annotated[bool, Option("--members", help="Also show their members.")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each group, with its members.")] = False,
    columns: Annotated[str | None, COLUMNS] = None,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show the groups of all protocols, their state and members, from __consumer_offsets.

    This is the state that a coordinator has after loading the topic. Rebalances of classic groups are not
    stored: a group with members is Stable.

    example:  kodec groups /data/kafka-logs --members

    exit:     0 done   1 something is damaged   2 no such group or topic, bad usage
    """
    with errors_reported():
        found = read_groups(*paths, groups=group, topics=())
        for name in group or []:
            if not any(each.group == name for each in found.groups):
                Outcome(found.omissions).end(json=json)
                raise missing_group(name, paths)
    if json:
        for each in found.groups:
            output.show(output.as_json(_facts(each)))
    else:
        _print(found.groups, members, Layout(columns, wide))
    raise Exit(Outcome(found.omissions).end(json=json))


def _facts(each: Group) -> dict[str, object]:
    return {
        "group": each.group,
        "type": each.type,
        "state": each.state,
        "protocolType": each.protocol_type,
        "protocol": each.protocol,
        "leader": each.leader,
        "generation": each.generation,
        "epoch": each.epoch,
        "assignmentEpoch": each.assignment_epoch,
        "members": [_member(member) for member in each.members],
    }


def _member(each: GroupMember) -> dict[str, object]:
    assignment = None
    if each.assignment is not None:
        assignment = [_assigned(one) for one in each.assignment]
    return {
        "memberId": each.member_id,
        "instanceId": each.instance_id,
        "clientId": each.client_id,
        "clientHost": each.client_host,
        "rack": each.rack,
        "epoch": each.epoch,
        "state": each.state,
        "topics": each.topics,
        "topicRegex": each.topic_regex,
        "assignment": assignment,
    }


def _assigned(each: Assigned) -> dict[str, object]:
    if each.subtopology is not None:
        return {"subtopology": each.subtopology, "role": each.role, "partitions": each.partitions}
    return {"topic": each.topic, "topicId": id_text(each.topic_id), "partitions": each.partitions}


def _print(groups: list[Group], members: bool, layout: Layout) -> None:
    print_table(
        output.count(len(groups), "group"),
        ["group", "type", "state", "protocol", "generation or epoch", "members"],
        [
            [
                each.group,
                each.type,
                each.state,
                " ".join(filter(None, (each.protocol_type, each.protocol))),
                each.generation if each.epoch is None else each.epoch,
                len(each.members),
            ]
            for each in groups
        ],
        left="group, type, state, protocol",
        layout=layout,
    )
    if members:
        print_table(
            output.count(sum(len(each.members) for each in groups), "member"),
            ["group", "member", "instance", "client", "host", "epoch", "state", "assignment"],
            [
                [
                    each.group,
                    one.member_id,
                    one.instance_id,
                    one.client_id,
                    one.client_host,
                    one.epoch,
                    one.state,
                    None if one.assignment is None else "; ".join(map(_short, one.assignment)),
                ]
                for each in groups
                for one in each.members
            ],
            left="group, member, instance, client, host, state, assignment",
            least="instance, host, client, epoch",
            layout=Layout(wide=layout.wide),
        )


def _short(each: Assigned) -> str:
    name = each.subtopology or each.topic or id_text(each.topic_id)
    role = f"{each.role} " if each.role else ""
    return f"{role}{name}({','.join(map(str, each.partitions))})"
