"""Answers about one partition's state: why a URL is where it is, which URLs are in a state, a recount. Read-only."""

from typing import Any, Final

from odradek.contracts import Answer, Question
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify
from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.dispatch import Dispatcher
from odradek_scheduler.core.foresight import Foresight
from odradek_scheduler.core.keys import run_id, seen_key
from odradek_scheduler.core.ledger import closed_before
from odradek_scheduler.core.memory import Memory
from odradek_scheduler.core.quarantine import Shelf, shelves_key
from odradek_scheduler.core.sitemaps import sitemap_run
from odradek_scheduler.core.state import PENDING, Ledger, Seen, Standing, standing, unpack
from odradek_scheduler.core.tables import Tables
from odradek_scheduler.core.trapping import pattern_row

_LOOKED_AT_MOST: Final = 5_000
"""Records one `urls` question may read, so that it takes few milliseconds; `after` goes on from there."""


def settled(ledger: Ledger, now: Standing) -> Standing:
    """Where a URL stands, given that its job may have skipped all that was open."""
    if ledger.closed_at is not None and now.state == PENDING:
        return Standing("skipped", now.attempt, 0, ledger.closed_by)
    return now


class Questions:
    """Reads tables, cache and memory."""

    def __init__(self, partition: int, cache: Cache, tables: Tables) -> None:
        self._partition, self._cache, self._tables = partition, cache, tables

    def answer(self, question: Question, now_ms: int, memory: Memory, dispatcher: Dispatcher) -> Answer:
        """`urls`, `explain` or `quarantine`; anything else is answered with an error in words."""
        if question.kind == "urls":
            body = self._urls(question)
        elif question.kind == "explain":
            body = self._explain(question, now_ms, memory, dispatcher)
        elif question.kind == "quarantine":
            body = self._quarantine(question, memory)
        else:
            body = {"error": f"unknown question {question.kind!r}"}
        return Answer(id=question.id, partition=self._partition, body=body, at_ms=now_ms)

    def _urls(self, question: Question) -> dict[str, Any]:
        """URLs of a job by state and reason, in the order of their fingerprints, `after` one of them.

        With an `after` in the answer there may be more behind it, also when this page holds none.
        """
        run = run_id(question.job, question.run)
        ledger = self._cache.ledger(run)
        prefix = seen_key(run, "")
        rows: list[dict[str, Any]] = []
        last = question.after
        first = prefix if last is None else prefix + last.encode() + b"\0"
        for looked_at, (key, value) in enumerate(self._tables.scan("seen", prefix, first)):
            if len(rows) >= question.limit or looked_at >= _LOOKED_AT_MOST:
                return {"urls": rows, "after": last}
            last = fp = key[len(prefix) :].decode()
            seen = unpack(Seen, value)
            now = settled(ledger, standing(seen.steps))
            if question.state in (None, now.state) and question.reason in (None, now.reason):
                rows.append(_row(fp, seen, now))
        return {"urls": rows, "after": None}

    def _explain(self, question: Question, now_ms: int, memory: Memory, dispatcher: Dispatcher) -> dict[str, Any]:
        url = self._identified(question)
        if url is None or url.key == "":
            return {"error": "the URL cannot be crawled"}
        run = run_id(question.job, question.run)
        ledger = self._cache.ledger(run)
        fp = question.fp or url.fp
        value = self._tables.get("seen", seen_key(run, fp))
        seen = None if value is None else unpack(Seen, value)
        flight = memory.flights.get((run, fp))
        robots = dispatcher.judge.robots_say(url.key, url.url, memory.terms(question.job), now_ms)
        body: dict[str, Any] = {
            "url": url.url, "canonical": url.canonical, "fp": fp, "key": url.key, "seen": seen is not None,
            "closed": ledger.closed_by if closed_before(ledger, 1 << 62) else None,
            "doing": None if flight is None else flight.stage.name.lower(),
            "robots": {"state": robots[0], "rule": robots[1]},
            "traps": dispatcher.judge.traps.explain(run, url.key, url.url, memory.terms(question.job), now_ms),
            "sitemap": self._sitemap_says(run, fp),
            "host": self._host_says(url.key, memory, dispatcher),
            "next": {"verdict": "unknown", "why": "It was never accepted here.", "reason": None, "due_ms": None},
        }  # fmt: skip
        if seen is not None and seen.seed:
            body["traps"]["trap"] = None
        if seen is not None:
            stands = settled(ledger, standing(seen.steps))
            foresight = Foresight(memory, dispatcher.agenda, dispatcher.judge)
            body |= _row(fp, seen, stands)
            body["next"] = foresight.next(run, fp, seen, stands, now_ms)._asdict()
            body["history"] = [
                {"offset": s.offset, "index": s.index, "kind": s.kind, "reason": s.reason, "status": s.status}
                for s in seen.steps
            ]
        return body

    def _sitemap_says(self, run: str, fp: str) -> dict[str, Any] | None:
        """What became of the URL as a sitemap of the job; None: it is none."""
        mapped = sitemap_run(run)
        value = self._tables.get("seen", seen_key(mapped, fp))
        if value is None:
            return None
        seen = unpack(Seen, value)
        return _row(fp, seen, settled(self._cache.ledger(mapped), standing(seen.steps)))

    def _quarantine(self, question: Question, memory: Memory) -> dict[str, Any]:
        """Patterns of a job that are in quarantine, were released, or have had URLs skipped as traps."""
        prefix, terms = shelves_key(run_id(question.job, question.run)), memory.terms(question.job)
        rows: list[dict[str, Any]] = []
        for looked_at, (key, value) in enumerate(self._tables.scan("ledger", prefix.encode())):
            if len(rows) >= question.limit or looked_at >= _LOOKED_AT_MOST:
                return {"patterns": rows[: question.limit], "more": True}
            host = key[len(prefix) :].decode().rpartition("\0")[0]
            for pattern in unpack(Shelf, value).patterns:
                row = {"key": host} | pattern_row(pattern, terms)
                if row["quarantined"] or pattern.released or pattern.trapped:
                    rows.append(row)
        return {"patterns": rows[: question.limit], "more": len(rows) > question.limit}

    def _identified(self, question: Question) -> CrawlUrl | None:
        scope = JobSpecification.from_wire(self._cache.job(question.job).spec).scope
        found = identify(question.url or "", scope.url_rules)
        return found if isinstance(found, CrawlUrl) else None

    def _host_says(self, key: str, memory: Memory, dispatcher: Dispatcher) -> dict[str, Any]:
        record = self._cache.host(key)
        host = memory.hosts.get(key)
        pace = None if host is None else dispatcher.agenda.pace(host)
        return {
            "delay_ms": None if pace is None else pace.delay_ms,
            "concurrency": None if pace is None else pace.concurrency,
            "in_flight": 0 if host is None else host.pace.in_flight,
            "next_due_ms": None if host is None else host.due_ms,
            "back_off_until_ms": record.back_off_until_ms or None,
            "error_streak": record.streak,
            "crawl_delay_ms": None if host is None else host.crawl_delay_ms or None,
            "blocked": record.blocked,
        }


def _row(fp: str, seen: Seen, now: Standing) -> dict[str, Any]:
    return {
        "fp": fp, "url": seen.url, "state": now.state, "reason": now.reason, "status": now.status, "try": now.attempt,
        "depth": seen.depth, "priority": seen.priority, "via": seen.via, "due_ms": now.due_ms or None,
        "lastmod": seen.lastmod,
    }  # fmt: skip
