"""What users ask of the crawl events, answered alike by the embedded engine and by Elasticsearch.

Elasticsearch takes part where `ODRADEK_TEST_ELASTICSEARCH=http://HOST:PORT` names one that may be written to; its data
stream `logs-odradek.crawl-default` is deleted first.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from tests.component.indexer.fakes import an_event
from tests.e2e.test_indexer_stores import Running

from odradek.contracts import (
    EcsError,
    EcsEvent,
    EcsHttp,
    EcsResponse,
    EcsUrl,
    LogEvent,
    OdradekFields,
    encode,
    timestamp,
)
from odradek.engines.stores import elasticsearch_engine
from odradek.errors import InfrastructureAway
from odradek.settings import Settings
from odradek.stores import (
    LOGS_DATA_STREAM,
    SearchEngine,
    SearchRefused,
    connect_documents,
    connect_search,
    refresh_path,
)
from odradek_api.core.activity import HISTORY_BUCKETS, interval_s
from odradek_api.core.cursors import cursor_of
from odradek_api.core.queries import after_cursor, events_query
from odradek_api.reading import Reader
from odradek_indexer.core.bulk import bulk_lines
from odradek_indexer.core.cap import EventCap
from odradek_indexer.logs import EventIndex

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

REAL = os.environ.get("ODRADEK_TEST_ELASTICSEARCH")
NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000
NO_STREAM = 404
REASONS = ("dns", "timeout_read", "http_404", "http_503", "tls")
ERRORS = {
    "dns": "The name could not be resolved",
    "timeout_read": "Nothing came for 15 seconds while the body was read",
    "http_404": "Not Found",
    "http_503": "Service Unavailable; try again later",
    "tls": "The certificate has expired",
}


def the_events() -> list[LogEvent]:
    """400 fetches of two jobs at ten hosts over 200 minutes: two in five fail."""
    return [the_event(number) for number in range(400)]


def the_event(number: int) -> LogEvent:
    reason = REASONS[number % 10 // 2] if number % 5 in (0, 1) else None
    status = None if reason in ("dns", "timeout_read", "tls") else int(reason[5:]) if reason else 200
    return an_event(
        f"event-{number:04}",
        timestamp=timestamp(NOW_MS - number * MINUTE_MS // 2),
        event=EcsEvent(
            id=f"event-{number:04}",
            action="fetch",
            outcome="failure" if reason else "success",
            reason=reason,
            duration=(number % 10 + 1) * 100_000_000 if status else None,
        ),
        url=EcsUrl(full=f"https://h{number % 10}.example/{number}", domain=f"h{number % 10}.example"),
        http=EcsHttp(response=EcsResponse(status_code=status)) if status else None,
        error=EcsError(type=reason, message=ERRORS[reason]) if reason else None,
        odradek=OdradekFields(
            job_id=f"job-{number % 2}", run=1 + number // 150, outcome="failed" if reason else "fetched"
        ),
    )


EVENTS = the_events()


class Asked:
    """One engine with the events in it, asked as the gateway asks."""

    def __init__(self, engine: SearchEngine) -> None:
        self._reader = Reader(connect_documents(Settings()), engine, {})  # type: ignore[arg-type]  # no items are read

    def close(self) -> None:
        self._reader.close()

    def facets(self, **filters: Any) -> dict[str, Any]:
        return self._reader.facets(events_query(NOW_MS, **filters))

    def ids(self, **filters: Any) -> list[str]:
        return [event["event"]["id"] for event in self._reader.events(events_query(NOW_MS, **filters), 500)["data"]]

    def pages(self, size: int, **filters: Any) -> Iterator[list[str]]:
        cursor: str | None = None
        while True:
            page = self._reader.events(events_query(NOW_MS, **filters), size, after_cursor(cursor))
            yield [event["event"]["id"] for event in page["data"]]
            cursor = page["after"] and cursor_of(page["after"])
            if cursor is None:
                return


def filled(address: str) -> SearchEngine:
    engine = connect_search(Settings.read({"ODRADEK_ELASTICSEARCH_URL": address}))
    index, lines = EventIndex(engine, retention_days=30, cap=EventCap(0)), [bulk_lines(encode(each)) for each in EVENTS]
    deadline = time.monotonic() + 120
    while True:
        try:
            assert index.store(lines) == []
            engine.call("POST", refresh_path())
        except InfrastructureAway:  # a data stream is slow to be made
            assert time.monotonic() < deadline, "the engine does not answer"
        else:
            return engine


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    running = Running(elasticsearch_engine, tmp_path_factory.mktemp("queries") / "search")
    asked = Asked(filled(running.engine.address))
    yield asked
    asked.close()
    running.kill()


@pytest.fixture(scope="module")
def real() -> Iterator[Asked]:
    if REAL is None:
        pytest.skip("ODRADEK_TEST_ELASTICSEARCH names no Elasticsearch")
    engine = connect_search(Settings.read({"ODRADEK_ELASTICSEARCH_URL": REAL}))
    empty_stream(engine)
    engine.close()
    asked = Asked(filled(REAL))
    yield asked
    asked.close()


def empty_stream(engine: SearchEngine) -> None:
    """By query where the stream itself cannot be deleted."""
    deadline = time.monotonic() + 60
    while True:
        try:
            engine.call("POST", f"/{LOGS_DATA_STREAM}/_delete_by_query?refresh=true", {"query": {"match_all": {}}})
        except SearchRefused as error:
            if error.status == NO_STREAM:
                return
            raise
        except InfrastructureAway:
            assert time.monotonic() < deadline, "Elasticsearch does not answer"
        else:
            return


@pytest.fixture(params=["embedded", "real"])
def asked(request: pytest.FixtureRequest) -> Asked:
    found: Asked = request.getfixturevalue(request.param)
    return found


def those(wanted: Callable[[LogEvent], bool]) -> list[str]:
    """Ids of the events that are meant, newest first."""
    found = sorted((event for event in EVENTS if wanted(event)), key=lambda event: event.event.id)
    return [event.event.id for event in sorted(found, key=lambda event: event.timestamp, reverse=True)]


def counted(values: list[Any]) -> list[dict[str, Any]]:
    return sorted(
        ({"value": value, "count": count} for value, count in Counter(values).items()),
        key=lambda each: (-each["count"], str(each["value"])),
    )


def by_count(facet: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(facet, key=lambda each: (-each["count"], str(each["value"])))


def test_all_failures_of_a_job_by_reason(asked: Asked) -> None:
    failed = [event for event in EVENTS if event.odradek.job_id == "job-1" and event.odradek.outcome == "failed"]

    found = asked.facets(job="job-1", outcome="failed")

    assert found["total"] == len(failed) == 80
    assert by_count(found["reason"]) == counted([event.event.reason for event in failed])


@pytest.mark.parametrize("run", [1, 2, 3, 4])
def test_the_events_of_one_run_the_first_one_too_which_they_do_not_name(asked: Asked, run: int) -> None:
    assert asked.ids(run=run) == those(lambda event: event.odradek.run == run)


def test_every_count_of_everything(asked: Asked) -> None:
    found = asked.facets()

    assert found["total"] == 400
    assert by_count(found["outcome"]) == counted([event.odradek.outcome for event in EVENTS])
    assert by_count(found["host"]) == counted([event.url.domain for event in EVENTS])
    assert by_count(found["status"]) == counted([each.http.response.status_code for each in EVENTS if each.http])


def test_the_slowest_hosts(asked: Asked) -> None:
    durations: dict[str, list[int]] = {}
    for event in EVENTS:
        if event.event.duration is not None:
            durations.setdefault(str(event.url.domain), []).append(event.event.duration)
    slowest = sorted(((host, sum(each) / len(each) / 1e6) for host, each in durations.items()), key=lambda e: -e[1])

    found = asked.facets()["slowest_hosts"]

    assert [(each["value"], each["mean_ms"]) for each in found] == slowest


def test_5xx_in_the_last_hour(asked: Asked) -> None:
    hour = timestamp(NOW_MS - 60 * MINUTE_MS)

    found = asked.ids(q="http.response.status_code:[500 TO 599]", since="1h")

    assert found == those(
        lambda each: each.http is not None and (each.http.response.status_code or 0) >= 500 and each.timestamp >= hour
    )
    assert len(found) == 12


@pytest.mark.parametrize(
    ("q", "reasons"),
    [
        ("error.message:resolved", {"dns"}),
        ("error.message:(expired OR unavailable)", {"tls", "http_503"}),
        ("error.message:(later AND again)", {"http_503"}),
        ("error.message:RESOLVED", {"dns"}),
        ("error.message:cert*", {"tls"}),
        ("event.reason:http_*", {"http_404", "http_503"}),
        ("error.type:tls", {"tls"}),
        ("error.message:seconds AND NOT event.reason:dns", {"timeout_read"}),
        ("error.message:nowhere", set()),
    ],
)
def test_full_text_on_the_error_message(asked: Asked, q: str, reasons: set[str]) -> None:
    assert asked.ids(q=q) == those(lambda each: each.event.reason in reasons)


@pytest.mark.parametrize("span", [10, 60 * 24 * 365])
def test_a_timeline_of_moments_as_close_as_the_span_of_what_is_found_lets_them_be(asked: Asked, span: int) -> None:
    since = timestamp(NOW_MS - span * MINUTE_MS)
    times = [at_ms(event.timestamp) for event in EVENTS if event.timestamp >= since]
    minutes = [at - at % MINUTE_MS for at in times]
    every_s = interval_s(max(minutes) - min(minutes))
    moments = Counter(at - at % (every_s * 1000) for at in times)

    found = asked.facets(since=f"{span}m")

    assert found["every_s"] == every_s
    assert {at_ms(each["at"]): each["count"] for each in found["time"]} == moments
    assert 1 < len(moments) < 2 * HISTORY_BUCKETS


def at_ms(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)


def test_pages_hold_every_event_once_newest_first(asked: Asked) -> None:
    pages = list(asked.pages(37, outcome="failed"))

    assert [name for page in pages for name in page] == those(lambda each: each.odradek.outcome == "failed")


def test_a_host_a_status_and_an_instant(asked: Asked) -> None:
    since, until = timestamp(NOW_MS - 90 * MINUTE_MS), timestamp(NOW_MS - 30 * MINUTE_MS)

    found = asked.ids(host="h2.example", status=200, since=since, until=until)

    assert found == those(
        lambda each: (
            each.url.domain == "h2.example"
            and each.http is not None
            and each.http.response.status_code == 200
            and since <= each.timestamp <= until
        )
    )
    assert found
