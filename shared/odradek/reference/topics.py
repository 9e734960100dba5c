"""docs/topics.md: the topic table, a picture of it, and every message with its fields."""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import msgspec

from odradek.contracts import FAILURE_CLASSES, OUTCOMES, REFUSAL_REASONS, SCHEMA_VERSION, SKIP_REASONS, Fact
from odradek.reference.fields import fields_of, table
from odradek.topics import DAY_MS, DEFAULT_PARTITIONS, DEFAULT_PREFIX, HOUR_MS, TOPICS, Topic

HEAD = f"""\
# Topics

<!-- Written by `make docs` from shared/odradek/topics.py and shared/odradek/contracts/. -->

`odradek topics` creates what is missing and verifies the rest. Names begin with `{DEFAULT_PREFIX}` unless
`ODRADEK_TOPIC_PREFIX` says otherwise; a topic has {DEFAULT_PARTITIONS} partitions unless `ODRADEK_PARTITIONS` or the
table says otherwise. Values are JSON; every message carries its schema version ({SCHEMA_VERSION}) in the header
`schema`. Fields that have their default are left out on the wire; unknown fields are ignored.
"""


def topic_messages() -> list[type[msgspec.Struct]]:
    """The messages that are whole values of topics, in the order of the table."""
    return list(dict.fromkeys(kind for topic in TOPICS.values() for kind in topic.value))


def topics_document() -> str:
    """The whole document."""
    parts = [HEAD, _topics(), _picture(), "## Messages\n", *(_message(kind) for kind in _all_messages()), _lists()]
    return "\n".join(parts)


def _topics() -> str:
    return table(
        ["Topic", "Key, and why", "Value", "Policy", "Written by → read by"],
        [
            [f"`{topic.name}`", f"{topic.key}: {topic.why}", _value(topic), _policy(topic), _flow(topic)]
            for topic in TOPICS.values()
        ],
    )


def _value(topic: Topic) -> str:
    kinds = " or ".join(f"[{kind.__name__}](#{kind.__name__.lower()})" for kind in topic.value)
    return "; ".join(part for part in (kinds, topic.note) if part)


def _policy(topic: Topic) -> str:
    parts = ["compacted" if topic.compacted else _time(topic.retention_ms)]
    if topic.retention_bytes:
        parts.append(f"at most {topic.retention_bytes / 1024**3:g} GiB a partition")
    if topic.partitions:
        parts.append(f"{topic.partitions} partition" + "s" * (topic.partitions > 1))
    return ", ".join(parts)


def _time(retention_ms: int | None) -> str:
    if retention_ms is None:
        return "kept"
    count, unit = (retention_ms // DAY_MS, "day") if retention_ms >= DAY_MS else (retention_ms // HOUR_MS, "hour")
    return f"{count} {unit}" + "s" * (count > 1)


def _flow(topic: Topic) -> str:
    return f"{', '.join(topic.written_by)} → {', '.join(topic.read_by)}"


def _picture() -> str:
    lines = ["flowchart LR"]
    for topic in TOPICS.values():
        place = topic.name.replace("-", "_") + "_topic"
        lines.append(f"  {place}[/{topic.name}/]")
        lines += [f"  {service} --> {place}" for service in topic.written_by]
        lines += [f"  {place} --> {service}" for service in topic.read_by]
    return "```mermaid\n" + "\n".join(lines) + "\n```\n"


def _all_messages() -> list[type[msgspec.Struct]]:
    """Every message and every part of one, each where it is first needed."""
    found: dict[type[msgspec.Struct], None] = {}
    for kind in topic_messages():
        found.update(dict.fromkeys(_with_parts(kind)))
    return list(found)


def _with_parts(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    yield kind
    for field in msgspec.structs.fields(kind):
        for part in _structs(field.type):
            yield from _with_parts(part)


def _structs(annotation: Any) -> Iterable[type[msgspec.Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [annotation]
    return [part for each in get_args(annotation) for part in _structs(each)]


def _message(kind: type[msgspec.Struct]) -> str:
    fact = f'A fact in a `Batch`, told by `"fact": "{kind.__name__}"`.\n\n' if kind in get_args(Fact) else ""
    rows = [[f"`{each.name}`", each.type, each.default, each.meaning] for each in fields_of(kind)]
    return (
        f"### {kind.__name__}\n\n{fact}{inspect.cleandoc(kind.__doc__ or '')}\n\n"
        + table(["Field", "Type", "Default", "Meaning"], rows)
    )  # fmt: skip


def _lists() -> str:
    lists = {
        "outcome": OUTCOMES,
        "skipped because": SKIP_REASONS,
        "refused because": REFUSAL_REASONS,
        "failed because (or `http_NNN`)": FAILURE_CLASSES,
    }
    rows = [[name, ", ".join(f"`{each}`" for each in values)] for name, values in lists.items()]
    return "## Closed lists\n\nNothing else is ever reported.\n\n" + table(["List", "Values"], rows)
