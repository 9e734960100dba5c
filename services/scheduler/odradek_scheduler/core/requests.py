"""What dispatch sends: requests, skips through the own log, and the events that tell a person why."""

from typing import Final

from odradek.contracts import (
    EcsEvent,
    EcsService,
    EcsUrl,
    FetchRequest,
    LogEvent,
    OdradekFields,
    Outcome,
    Parsed,
    event_id,
    timestamp,
)
from odradek.urls import CrawlUrl, identify
from odradek_scheduler.core.keys import split_run_id
from odradek_scheduler.core.state import Seen, Standing, Visit
from odradek_scheduler.core.terms import Terms

_SERVICE: Final = EcsService(name="scheduler")


_UNKNOWN: Final = Visit("", 0, 0)
"""Of a page that is to be read whatever it is."""


def page_request(run: str, fp: str, seen: Seen, attempt: int, terms: Terms, now_ms: int) -> FetchRequest:
    """The request for a URL that is due."""
    job, number = split_run_id(run)
    known = _known(seen, terms) or _UNKNOWN
    return FetchRequest(
        job=job, url=seen.url, fp=fp, key=seen.key, run=abs(number), kind="sitemap" if number < 0 else "page",
        etag=known.etag, last_modified=known.last_modified, digest=known.digest,
        attempt=attempt, depth=seen.depth,
        priority=seen.priority, seed=seen.seed, via=seen.via, site=seen.site, chain=seen.chain, meta=seen.meta,
        spec_version=terms.version, sent_at_ms=now_ms, lease_until_ms=now_ms + terms.lease_ms,
    )  # fmt: skip


def _known(seen: Seen, terms: Terms) -> Visit | None:
    """What the page was when it was read last, if another reading of the same page would bring the same."""
    visit = seen.visit
    if visit is None or terms.schedule is None or not terms.schedule.conditional or visit.rules != terms.rules:
        return None
    return visit


def robots_request(run: str, key: str, origin: str, terms: Terms, now_ms: int) -> FetchRequest:
    """The request for an origin's robots.txt; outside the ledger (rule J)."""
    job, number = split_run_id(run)
    url = f"{origin}/robots.txt"
    found = identify(url)
    return FetchRequest(
        job=job, url=url, fp=found.fp if isinstance(found, CrawlUrl) else "", key=key, run=abs(number), kind="robots",
        spec_version=terms.version, sent_at_ms=now_ms, lease_until_ms=now_ms + terms.lease_ms,
    )  # fmt: skip


def dispatch_outcome(run: str, fp: str, seen: Seen, attempt: int, end: tuple[Outcome, str], now_ms: int) -> Parsed:
    """A URL ends without a fetch; the fold judges it like any other outcome."""
    job, number = split_run_id(run)
    outcome, reason = end
    return Parsed(
        job=job, fp=fp, key=seen.key, outcome=outcome, run=number, attempt=attempt, reason=reason, at_ms=now_ms
    )


def outcome_event(
    run: str, fp: str, seen: Seen, now: Standing, end: tuple[Outcome, str], why: tuple[str, int]
) -> LogEvent:
    """The same for a person; `why`: one sentence, and the time in ms."""
    job, number = split_run_id(run)
    outcome, reason = end
    message, at_ms = why
    number = abs(number)
    action = "skip" if outcome == "skipped" else "fail"
    return LogEvent(
        timestamp=timestamp(at_ms),
        event=EcsEvent(
            id=event_id(job, number, fp, now.attempt, action),
            action=action,
            outcome="unknown" if outcome == "skipped" else "failure",
            reason=reason,
        ),
        service=_SERVICE,
        url=EcsUrl(full=seen.url, domain=seen.url.partition("//")[2].partition("/")[0].rsplit(":", 1)[0] or None),
        odradek=OdradekFields(
            job_id=job, run=number, attempt=now.attempt, fingerprint=fp, host_key=seen.key, depth=seen.depth,
            outcome=outcome, via=seen.via,
        ),
        message=message,
    )  # fmt: skip


def clamped_event(run: str, key: str, origin: str, asked_given_ms: tuple[int, int], now_ms: int) -> LogEvent:
    """A robots.txt asks for a longer crawl-delay than the job allows: never a silent drop."""
    job, number = split_run_id(run)
    asked_s, given_s = (span_ms / 1000 for span_ms in asked_given_ms)
    return LogEvent(
        timestamp=timestamp(now_ms),
        event=EcsEvent(id=event_id(job, number, origin, 0, "clamp"), action="clamp", outcome="success"),
        service=_SERVICE,
        url=EcsUrl(full=f"{origin}/robots.txt", domain=origin.split("/")[2].rsplit(":", 1)[0]),
        odradek=OdradekFields(job_id=job, run=number, host_key=key),
        message=(
            f"{origin}/robots.txt asks for a crawl-delay of {asked_s:g} s; "
            f"politeness.max_delay clamps it to {given_s:g} s."
        ),
    )
