"""What the parser tells the others: links and outcome to the frontier, items, dead letters, the crawl event."""

from typing import Any

from odradek.contracts import (
    MISSING,
    Discovered,
    EcsError,
    EcsEvent,
    EcsHttp,
    EcsLog,
    EcsResponse,
    EcsService,
    EcsUrl,
    FetchRequest,
    LogEvent,
    OdradekFields,
    PageMeta,
    PageSeen,
    PageVersion,
    Parsed,
    event_id,
    timestamp,
)
from odradek.urls import CrawlUrl
from odradek_parser.core.parsing import Reading, Target

SERVICE = "parser"
MOST_ETAG_CHARS = 200
"""A longer one is not kept for every URL: the hash of the body tells the same."""
MOST_DATE_CHARS = 40


def discovered(request: FetchRequest, target: Target, via: str) -> Discovered:
    """A link or redirect target that passed the filters."""
    url = target.url
    return Discovered(
        job=request.job,
        url=url.url,
        fp=url.fp,
        key=url.key,
        run=request.run,
        depth=target.depth,
        priority=request.priority,
        seed=target.seed,
        via=via,
        site=target.site,
        chain=target.chain,
        meta=request.meta,
        lastmod=target.lastmod,
    )


def sitemap_found(request: FetchRequest, url: CrawlUrl, via: str) -> Discovered:
    """A sitemap that an index names; kept under the run of sitemaps, its depth counting indexes."""
    depth = request.depth + 1 if request.kind == "sitemap" else 1
    return Discovered(
        job=request.job, url=url.url, fp=url.fp, key=url.key, run=-request.run, depth=depth, via=via, site=request.site
    )


def parsed(
    meta: PageMeta, reading: Reading, *, items: int, malformed: int, now_ms: int, rules: str | None = None
) -> Parsed:
    """The outcome of one try; what was in the page is counted with it. `rules`: of a recurring job."""
    request = meta.request
    return Parsed(
        job=request.job,
        fp=request.fp,
        key=request.key,
        outcome=meta.outcome,
        run=request.ledger_run,
        attempt=request.attempt,
        reason=meta.reason,
        status=meta.status,
        kept=reading.kept,
        retry_in_ms=meta.retry_in_ms,
        links=reading.sifted.counts(),
        items=items,
        malformed=malformed,
        size_bytes=meta.size_bytes,
        content=reading.content,
        version=None if rules is None else page_version(meta, rules),
        fetched_at_ms=meta.fetched_at_ms,
        at_ms=now_ms,
    )


def page_version(meta: PageMeta, rules: str) -> PageVersion | None:
    """What tells a page of a recurring job apart from what it will be; None: there was none."""
    if meta.request.kind != "page" or meta.outcome not in ("fetched", "not_modified"):
        return None
    etag, modified = meta.headers.get("etag"), meta.headers.get("last-modified")
    return PageVersion(
        rules=rules,
        digest=None if meta.truncated else meta.digest,
        etag=etag if etag is not None and len(etag) <= MOST_ETAG_CHARS else None,
        last_modified=modified if modified is not None and len(modified) <= MOST_DATE_CHARS else None,
    )


def page_seen(meta: PageMeta, url: str) -> PageSeen | None:
    """A page of an earlier run that is unchanged, or not there any more; None: its items say it, or nothing does."""
    request = meta.request
    missing = meta.reason in MISSING and meta.retry_in_ms is None
    if request.kind != "page" or not (missing or meta.outcome == "not_modified") or request.run == 1:
        return None
    return PageSeen(job=request.job, url=url, run=request.run, missing=missing, at_ms=meta.fetched_at_ms)


def poisoned(meta: PageMeta, now_ms: int) -> Parsed:
    """The terminal fact of a page that ends as a dead letter."""
    request = meta.request
    return Parsed(
        job=request.job,
        fp=request.fp,
        key=request.key,
        outcome="failed",
        run=request.ledger_run,
        attempt=request.attempt,
        reason="poison",
        fetched_at_ms=meta.fetched_at_ms,
        at_ms=now_ms,
    )


def parse_event(  # noqa: PLR0913  (all that the two of them know)
    meta: PageMeta,
    reading: Reading | None,
    *,
    now_ms: int,
    items: int = 0,
    malformed: int = 0,
    job_meta: dict[str, Any] | None = None,
    error: str | None = None,
    took_ns: int | None = None,
) -> LogEvent:
    """One page as the parser saw it; without a reading it could not be read."""
    request = meta.request
    failed = reading is None
    return LogEvent(
        timestamp=timestamp(now_ms),
        event=EcsEvent(
            id=event_id(request.job, request.run, request.fp, request.attempt, "parse"),
            action="parse",
            outcome="failure" if failed else "success",
            reason="poison" if failed else None,
            duration=took_ns,
        ),
        service=EcsService(name=SERVICE),
        odradek=OdradekFields(
            job_id=request.job,
            run=request.run,
            attempt=request.attempt,
            fingerprint=request.fp,
            host_key=request.key,
            depth=request.depth,
            outcome="failed" if failed else meta.outcome,
            via=request.via,
            items=items,
            links=None if reading is None else len(reading.targets) + reading.sifted.counts().found,
            meta={**(job_meta or {}), **(request.meta or {})} or None,
        ),
        message=f"failed to parse: {error}" if reading is None else _sentence(reading, items, malformed),
        url=EcsUrl(full=request.url, domain=_host(request.url)),
        http=EcsHttp(response=EcsResponse(status_code=meta.status, body_bytes=meta.size_bytes)),
        error=EcsError(type="poison", message=error) if failed else None,
        log=EcsLog(level="warning" if failed or malformed else "info"),
        labels={"robots": " ".join(sorted(reading.robots))} if reading is not None and reading.robots else {},
    )


def _sentence(reading: Reading, items: int, malformed: int) -> str:
    sifted = reading.sifted
    parts = [f"{items} items" + (f" and {malformed} malformed" if malformed else "")]
    parts.append(f"{len(reading.targets)} links forwarded")
    parts.append(f"{sifted.duplicates} duplicate, {sum(sifted.refused.values())} refused")
    parts += sorted(reading.robots)
    if reading.sitemaps:
        parts.append(f"{len(reading.sitemaps)} sitemaps named")
    if reading.text is not None:
        parts.append(f"{reading.text.encoding} by {reading.text.source}")
    return ", ".join(parts)


def _host(url: str) -> str | None:
    """Of the URL in a request, which is normalised."""
    authority = url.partition("://")[2].partition("/")[0]
    host, colon, port = authority.rpartition(":")
    return (host if colon and port.isdigit() else authority).removesuffix(".") or None
