"""What the fetcher tells the others: the page, the frontier's fact, and the crawl event."""

import re
from collections.abc import Sequence
from typing import Any

import xxhash

from odradek.contracts import (
    EcsError,
    EcsEvent,
    EcsHttp,
    EcsLog,
    EcsResponse,
    EcsService,
    EcsUrl,
    Fetched,
    FetchRequest,
    LogEvent,
    OdradekFields,
    PageMeta,
    Parsed,
    RobotsFetched,
    event_id,
    timestamp,
)
from odradek.urls import CrawlUrl, origin
from odradek_fetcher.core.answers import Answer, Headers
from odradek_fetcher.core.media import charset, media_type
from odradek_fetcher.core.plans import Plan
from odradek_fetcher.core.retrying import retry_after_s, retry_in_ms
from odradek_fetcher.core.verdicts import SUCCESS, Verdict

SERVICE = "fetcher"
KEPT_HEADERS = ("etag", "last-modified", "x-robots-tag", "link", "refresh", "content-language", "content-disposition")
"""That later stages read."""
MAX_HEADER_CHARS = 8192
MAX_HEADERS = 100
MAX_CHARS = 128 * 1024
"""Of all kept headers together: beside a body of 15 MiB they have to fit into one Kafka message."""
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,9})")


def digest(body: bytes) -> str:
    """128-bit hash of a body."""
    return xxhash.xxh3_128_hexdigest(body)


def page_meta(
    request: FetchRequest,
    plan: Plan | None,
    answer: Answer,
    verdict: Verdict,
    *,
    now_ms: int,
    delays_s: Sequence[float],
    body_digest: str | None,
) -> PageMeta:
    """The metadata of a page; `body_digest` is null when no body travels with it."""
    get = answer.headers.get
    content_type = get("content-type")
    asked = retry_after_s(get("retry-after"), now_ms)
    retry = None
    if verdict.outcome == "failed" and not verdict.lasting and plan is not None and verdict.reason is not None:
        retry = retry_in_ms(
            verdict.reason,
            attempt=request.attempt,
            retries=plan.spec.fetch.retries,
            delays_s=delays_s,
            retry_after_s=asked,
        )
    return PageMeta(
        request=request,
        outcome=verdict.outcome,
        fetched_at_ms=now_ms,
        reason=verdict.reason,
        error=verdict.error,
        retry_in_ms=retry,
        status=answer.status,
        final_url=answer.url if answer.url != request.url else None,
        location=verdict.location,
        content_type=content_type[:MAX_HEADER_CHARS] if content_type else content_type,
        charset=charset(content_type),
        headers=_kept(answer.headers, whole=plan is not None and plan.spec.archive is not None),
        size_bytes=len(answer.body or b"") if body_digest is not None else 0,
        declared_bytes=answer.declared_bytes,
        truncated=answer.truncated,
        digest=body_digest,
        timings=answer.timings,
        remote_address=answer.remote_address,
        protocol=answer.protocol,
        tls_verified=answer.tls_verified,
        retry_after_s=asked,
    )


def _kept(headers: Headers, *, whole: bool) -> dict[str, str]:
    """What later stages read; `whole`: what an archive keeps too, several values of a name in lines."""
    kept = {name: value[:MAX_HEADER_CHARS] for name in KEPT_HEADERS if (value := headers.get(name)) is not None}
    if "x-robots-tag" in kept:
        kept["x-robots-tag"] = "\n".join(headers.all("x-robots-tag"))[:MAX_HEADER_CHARS]
    if not whole:
        return kept
    room = MAX_CHARS
    for name in headers.names()[:MAX_HEADERS]:
        value = "\n".join(headers.all(name))[:MAX_HEADER_CHARS]
        room -= len(name) + len(value)
        if room < 0:
            break
        kept.setdefault(name, value)
    return kept


def fetched(page: PageMeta) -> Fetched:
    """The fact that frees the host; its reason is null when an HTTP answer came that is no block."""
    request = page.request
    answered = page.outcome != "failed" or (page.reason or "").startswith("http_")
    return Fetched(
        job=request.job,
        fp=request.fp,
        key=request.key,
        run=request.run,
        attempt=request.attempt,
        kind=request.kind,
        status=page.status,
        reason=None if answered else page.reason,
        duration_ms=page.timings.total_ms,
        retry_after_s=page.retry_after_s,
        size_bytes=page.size_bytes,
        sent_at_ms=request.sent_at_ms,
        at_ms=page.fetched_at_ms,
    )


def unfetched(request: FetchRequest, now_ms: int, reason: str | None = None) -> Fetched:
    """The fact that frees the host of a request that was not carried out and says nothing about the host.

    A reason of `GIVEN_BACK`: it is to be sent again with the same try, once its job lets it.
    """
    return Fetched(
        job=request.job,
        fp=request.fp,
        key=request.key,
        run=request.run,
        attempt=request.attempt,
        kind=request.kind,
        reason=reason,
        sent_at_ms=request.sent_at_ms,
        at_ms=now_ms,
    )


def robots_fetched(page: PageMeta, url: CrawlUrl, answer: Answer) -> RobotsFetched:
    """The answer of a robots.txt for the origin that was asked, wherever redirects led.

    An answer that broke off is none: half a file may lack the line that forbids. Too many redirects are one, of class
    3xx, which RFC 9309 section 2.3.1.2 lets a crawler take for a file that does not exist.
    """
    text = None
    whole = answer.failure is None or answer.failure.reason == "redirect_limit"
    if answer.failure is None and answer.status in SUCCESS:
        text = (answer.body or b"").decode("utf-8-sig", "replace")
    control = _MAX_AGE.search((answer.headers.get("cache-control") or "").lower())
    return RobotsFetched(
        key=page.request.key,
        origin=origin(url),
        status=answer.status if whole else None,
        reason=None if answer.failure is None else answer.failure.reason,
        text=text,
        duration_ms=page.timings.total_ms,
        retry_after_s=page.retry_after_s,
        max_age_s=int(control[1]) if control else None,
        fp=page.request.fp,
        attempt=page.request.attempt,
        lease_until_ms=page.request.lease_until_ms,
        at_ms=page.fetched_at_ms,
    )


def given_back(request: FetchRequest, url: CrawlUrl, now_ms: int, reason: str) -> Fetched | RobotsFetched:
    """The fact by which the frontier sends a request again, with the same try; `reason`: one of `GIVEN_BACK`."""
    if request.kind != "robots":
        return unfetched(request, now_ms, reason)
    return RobotsFetched(
        key=request.key,
        origin=origin(url),
        reason=reason,
        fp=request.fp,
        attempt=request.attempt,
        lease_until_ms=request.lease_until_ms,
        at_ms=now_ms,
    )


def poisoned(request: FetchRequest, now_ms: int) -> Parsed:
    """The terminal fact of a request that ends as a dead letter."""
    return Parsed(
        job=request.job,
        fp=request.fp,
        key=request.key,
        run=request.ledger_run,
        attempt=request.attempt,
        outcome="failed",
        reason="poison",
        at_ms=now_ms,
    )


def fetch_event(page: PageMeta, *, meta: dict[str, Any] | None = None) -> LogEvent:
    """One finished try as a crawl event; `fetch` for pages, `robots` and `sitemap` for those. `meta` is the job's."""
    request = page.request
    action = "fetch" if request.kind == "page" else request.kind
    failed = page.outcome == "failed"
    return LogEvent(
        timestamp=timestamp(page.fetched_at_ms),
        event=EcsEvent(
            id=event_id(request.job, request.run, request.fp, request.attempt, action),
            action=action,
            outcome="failure" if failed else "success",
            reason=page.reason,
            duration=int(page.timings.total_ms * 1e6),
        ),
        service=EcsService(name=SERVICE),
        odradek=OdradekFields(
            job_id=request.job,
            run=request.run,
            attempt=request.attempt,
            fingerprint=request.fp,
            host_key=request.key,
            depth=request.depth,
            outcome=page.outcome,
            via=request.via,
            remote_address=page.remote_address,
            protocol=page.protocol,
            tls_verified=page.tls_verified,
            timings=page.timings,
            retry_in_ms=page.retry_in_ms,
            meta={**(meta or {}), **(request.meta or {})} or None,
        ),
        message=_sentence(page),
        url=EcsUrl(full=request.url, domain=_domain(request.url)),
        http=None if page.status is None else _http(page),
        error=EcsError(type=page.reason, message=page.error) if failed else None,
        log=EcsLog(level="warning" if failed else "info"),
    )


def _http(page: PageMeta) -> EcsHttp:
    return EcsHttp(
        response=EcsResponse(
            status_code=page.status, mime_type=media_type(page.content_type), body_bytes=page.size_bytes
        )
    )


def _sentence(page: PageMeta) -> str:
    if page.outcome == "failed":
        again = "" if page.retry_in_ms is None else f"; again in {page.retry_in_ms / 1000:g} s"
        return f"{page.reason}: {page.error}{again}"
    parts = [page.outcome if page.reason is None else f"{page.outcome} ({page.reason})", str(page.status)]
    if page.location is not None:
        parts.append(f"to {page.location}")
    if page.digest is not None:
        parts.append(f"{page.size_bytes} bytes" + (" (cut)" if page.truncated else ""))
    return ", ".join([*parts, f"{page.timings.total_ms:.0f} ms"])


def _domain(url: str) -> str:
    authority = url.split("/", 3)[2] if url.count("/") > 1 else ""
    name, colon, port = authority.rpartition(":")
    return name if colon and port.isdigit() else authority
