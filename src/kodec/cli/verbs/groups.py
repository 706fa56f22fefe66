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
        groups = read_groups(*paths, groups=group, topics=())
        for name in group or []:
            if not any(group.group == name for group in groups.groups):
                Outcome(groups.omissions).end(json=json)
                raise missing_group(name, paths)
    if json:
        for item in groups.groups:
            output.show(output.as_json(_facts(item)))
    else:
        _print_tables(groups.groups, members, Layout(columns, wide))
    raise Exit(Outcome(groups.omissions).end(json=json))


def _facts(group: Group) -> dict[str, object]:
    return {
        "group": group.group,
        "type": group.type,
        "state": group.state,
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.leader,
        "generation": group.generation,
        "epoch": group.epoch,
        "assignmentEpoch": group.assignment_epoch,
        "members": [_member(member) for member in group.members],
    }


def _member(member: GroupMember) -> dict[str, object]:
    assignment = None
    if member.assignment is not None:
        assignment = [_assigned(assigned) for assigned in member.assignment]
    return {
        "memberId": member.member_id,
        "instanceId": member.instance_id,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "rack": member.rack,
        "epoch": member.epoch,
        "state": member.state,
        "topics": member.topics,
        "topicRegex": member.topic_regex,
        "assignment": assignment,
    }


def _assigned(assigned: Assigned) -> dict[str, object]:
    if assigned.subtopology is not None:
        return {"subtopology": assigned.subtopology, "role": assigned.role, "partitions": assigned.partitions}
    return {"topic": assigned.topic, "topicId": id_text(assigned.topic_id), "partitions": assigned.partitions}


def _print_tables(groups: list[Group], members: bool, layout: Layout) -> None:
    print_table(
        output.count(len(groups), "group"),
        ["group", "type", "state", "protocol", "generation or epoch", "members"],
        [
            [
                group.group,
                group.type,
                group.state,
                " ".join(filter(None, (group.protocol_type, group.protocol))),
                group.generation if group.epoch is None else group.epoch,
                len(group.members),
            ]
            for group in groups
        ],
        left_aligned="group, type, state, protocol",
        layout=layout,
    )
    if members:
        print_table(
            output.count(sum(len(group.members) for group in groups), "member"),
            ["group", "member", "instance", "client", "host", "epoch", "state", "assignment"],
            [
                [
                    group.group,
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.epoch,
                    member.state,
                    None if member.assignment is None else "; ".join(map(_short, member.assignment)),
                ]
                for group in groups
                for member in group.members
            ],
            left_aligned="group, member, instance, client, host, state, assignment",
            least="instance, host, client, epoch",
            layout=Layout(wide=layout.wide),
        )


def _short(assigned: Assigned) -> str:
    name = assigned.subtopology or assigned.topic or id_text(assigned.topic_id)
    role = f"{assigned.role} " if assigned.role else ""
    return f"{role}{name}({','.join(map(str, assigned.partitions))})"
