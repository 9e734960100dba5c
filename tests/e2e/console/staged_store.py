"""A store whose crawl events can be searched as the console does it."""

import random
from collections import Counter
from typing import Any

from tests.component.api.fakes import FakeStore
from tests.e2e.console.staged_runs import DAILY, freshness

from odradek.contracts.events import timestamp
from odradek.stores import Document
from odradek_api.core.queries import FACETS, FIELDS

JOB = "books-1f2e3d4c"


class StagedStore(FakeStore):
    """Searches its events as the console asks for them: by terms, newest first."""

    def events(self, query: Document, limit: int, after: list[Any] | None = None) -> Document:
        self._answer()
        found = [event for event in self.logs if matches(event, query)]
        start = 0 if after is None else int(after[0])
        page = found[start : start + limit]
        more = [start + limit, "id"] if len(found) > start + limit else None
        return {"total": len(found), "data": page, "after": more}

    def facets(self, query: Document) -> Document:
        facets = super().facets(query)
        found = [event for event in self.logs if matches(event, query)]
        facets["total"] = len(found)
        for name in FACETS:
            counts = Counter(value for each in found if (value := _value(each, FIELDS[name])) is not None)
            facets[name] = [{"value": value, "count": count} for value, count in counts.most_common(20)]
        minutes = Counter(f"{each['@timestamp'][:16]}:00.000Z" for each in found)
        return facets | {"time": [{"at": at, "count": count} for at, count in sorted(minutes.items())]}

    def freshness(self, job: str, within_s: float, now_ms: int) -> Document:
        return freshness(now_ms, within_s) if job == DAILY else super().freshness(job, within_s, now_ms)


def _value(event: Document, path: str) -> Any:
    for name in path.split("."):
        event = (event or {}).get(name)  # type: ignore[assignment]  # the last one is no document
    return event


def matches(event: Document, query: Document) -> bool:
    for clause in query.get("bool", {}).get("filter", []):
        for path, wanted in clause.get("term", {}).items():
            if str(_value(event, path)) != str(wanted):
                return False
        if "query_string" in clause and clause["query_string"]["query"].lower() not in str(event).lower():
            return False
    return True


def an_event(number: int, at_ms: int, **odradek: Any) -> Document:
    """A finished try as the indexer stores it."""
    rng = random.Random(number)
    outcome, reason, status = rng.choices(
        [
            ("fetched", None, 200),
            ("failed", "http_404", 404),
            ("failed", "timeout_read", None),
            ("redirected", None, 301),
        ],
        [90, 6, 2, 2],
    )[0]
    url = f"https://{rng.choice(('', 'www.', 'cdn.'))}books.example/catalogue/{number}"
    return {
        "@timestamp": timestamp(at_ms),
        "event": {
            "id": f"e{number}",
            "action": "fetch",
            "duration": int(rng.lognormvariate(18.4, 0.6)),
            "reason": reason,
        },
        "service": {"name": "fetcher"},
        "odradek": {
            "job_id": JOB,
            "outcome": outcome,
            "host_key": "books.example",
            "fingerprint": f"{number:032x}",
            "try": 0,
            "depth": 2,
        }
        | odradek,
        "message": f"{reason}: the server said so"
        if outcome == "failed"
        else f"{outcome}, {status}, 48210 bytes, 98 ms",
        "url": {"full": url, "domain": url.split("/")[2]},
        "http": None if status is None else {"response": {"status_code": status, "mime_type": "text/html"}},
    }
