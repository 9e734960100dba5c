"""How fresh a job's items are: what the store is asked, and what is made of its answer."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from bson.datetime_ms import DatetimeMS

from odradek.stores import Document, instant

OLDEST: Final = 10
"""Items named."""
HOSTS: Final = 1_000
_HOST: Final = {"$arrayElemAt": [{"$split": ["$url", "/"]}, 2]}
"""Of a URL; with its port."""


def freshness_steps(match: Document, since: DatetimeMS) -> Sequence[Document]:
    """An aggregation: items by host, how many were seen since then, and the oldest sight."""
    fresh = {"$sum": {"$cond": [{"$gte": ["$last_seen", since]}, 1, 0]}}
    return [
        {"$match": match},
        {"$group": {"_id": _HOST, "items": {"$sum": 1}, "fresh": fresh, "oldest": {"$min": "$last_seen"}}},
    ]


def freshness_of(
    groups: Iterable[Document], oldest: Iterable[Document], within_s: float, now_ms: int
) -> dict[str, Any]:
    """The answer to a person."""
    hosts = sorted(groups, key=lambda group: (int(group["oldest"]), str(group["_id"])))
    items, fresh = (sum(group[name] for group in hosts) for name in ("items", "fresh"))
    return {
        "within_s": within_s,
        "items": items,
        "fresh": fresh,
        "share": fresh / items if items else None,
        "oldest_age_s": (now_ms - int(hosts[0]["oldest"])) / 1000 if hosts else None,
        "oldest": [{"id": each["_id"], "url": each["url"], "last_seen": instant(each["last_seen"])} for each in oldest],
        "hosts": [
            {
                "host": str(group["_id"]),
                "items": group["items"],
                "fresh": group["fresh"],
                "share": group["fresh"] / group["items"],
                "oldest_seen": instant(group["oldest"]),
            }
            for group in hosts[:HOSTS]
        ],
    }
