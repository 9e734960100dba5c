"""Scrapy Cluster 1.2's requests as they come to its REST service, and what they are in terms of jobs.

Fields, limits and defaults are those of its four schemas (crawl, action, stats, zookeeper).
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from odradek.units import LONGEST_S
from odradek_api.core.seeds import SeedLine

KEY_PREFIX = "scrapy-cluster:"
"""Of the idempotency keys under which its crawls are jobs."""
META = "scrapy_cluster"
"""Member of a job's `meta` that says which crawl it is."""
SPIDER = "link"
WINDOWS = (900, 3600, 21_600, 43_200, 86_400, 604_800)
"""Seconds of its statistics; `lifetime` comes beside them."""
_NEVER = 253_402_300_799
"""The last second of the year 9999: what expires later does not expire."""
_COOKIE = re.compile(r"\s*([^=;\s]+)\s*=\s*([^;]*)")


def _unique(values: list[str] | None) -> list[str] | None:
    if values is not None and len(set(values)) != len(values):
        raise ValueError("an entry is given twice")
    return values


Words = Annotated[list[str], AfterValidator(_unique)] | None
Name = Annotated[str, Field(min_length=3, max_length=40)]
Id = Annotated[str, Field(min_length=1, max_length=40)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CrawlAsked(_Request):
    """One URL of a crawl."""

    appid: Name = Field(examples=["testapp"])
    crawlid: Id = Field(examples=["abc1234"])
    url: str = Field(examples=["https://books.example/"])
    spiderid: str = SPIDER
    priority: int = Field(default=1, ge=1, le=100)
    maxdepth: int = Field(default=0, ge=0, le=3)
    domain_max_pages: int | None = Field(default=None, ge=0, le=2000)
    allowed_domains: Words = None
    allow_regex: Words = None
    deny_regex: Words = None
    deny_extensions: Words = None
    expires: int = 0
    useragent: str | None = Field(default=None, min_length=3, max_length=1000)
    cookie: str | None = Field(default=None, min_length=3, max_length=1000)
    attrs: dict[str, Any] | None = None


class ActionAsked(_Request):
    """Stop a crawl, or tell about one."""

    uuid: Id
    appid: Name
    spiderid: str
    action: Literal["stop", "info"]
    crawlid: Id | None = None


class StatsAsked(_Request):
    """Tell about the cluster."""

    uuid: Id
    appid: Name
    stats: Literal["kafka-monitor", "redis-monitor", "crawler", "spider", "machine", "queue", "rest", "all"] = "all"


class DomainAsked(_Request):
    """Slow a domain down, or leave it alone (its ZooKeeper request)."""

    uuid: Id
    appid: Name
    domain: str = Field(min_length=1)
    action: Literal["domain-update", "domain-remove", "blacklist-update", "blacklist-remove"]
    hits: int = Field(default=0, ge=0)
    window: int = Field(default=0, ge=0, le=int(LONGEST_S))
    scale: float = Field(default=1.0, ge=0.0, le=1.0, strict=False)


Asked = CrawlAsked | ActionAsked | StatsAsked | DomainAsked


def asked_in(values: Any) -> Asked | str:
    """The request in a body, by the member that only its kind has; a sentence for what is none."""
    if not isinstance(values, dict):
        return "must be a JSON object"
    kinds: dict[str, type[_Request]] = {"url": CrawlAsked, "domain": DomainAsked, "action": ActionAsked}
    kind = next((kind for name, kind in kinds.items() if name in values), StatsAsked)
    try:
        return cast("Asked", kind.model_validate(values))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the request'}: {first['msg'].removeprefix('Value error, ')}"


def crawl_of(asked: CrawlAsked | ActionAsked) -> dict[str, Any]:
    """Which crawl a job is; also in the job's `meta`, so handed through to its items."""
    return {"appid": asked.appid, "crawlid": asked.crawlid, "spiderid": asked.spiderid}


def specification_of(asked: CrawlAsked) -> dict[str, Any]:
    """The job that URLs with these parameters belong to; seeds come one by one."""
    scope = {
        "max_depth": asked.maxdepth,
        "follow_links": asked.maxdepth > 0,
        "sitemaps": False,
        "drop_query_parameters": [],
        "max_pages_per_host": asked.domain_max_pages or None,
        "allowed_domains": asked.allowed_domains or None,
        "include": asked.allow_regex or [],
        "exclude": asked.deny_regex or [],
        "deny_extensions": "default" if asked.deny_extensions is None else asked.deny_extensions,
    }
    fetch = {"user_agent": asked.useragent, "cookies": cookies_of(asked.cookie or "")}
    instant = datetime.fromtimestamp(asked.expires, UTC).isoformat() if 0 < asked.expires <= _NEVER else None
    return {
        "name": f"{asked.appid} {asked.crawlid}",
        "scope": scope,
        "fetch": fetch,
        "expires": instant,
        "meta": {META: crawl_of(asked)},
    }


def epoch_of(instant: str) -> str:
    """An expiry as it tells it: seconds since 1970, as text."""
    return str(int(datetime.fromisoformat(instant).timestamp()))


def cookies_of(text: str) -> dict[str, str]:
    """Cookies of a header-like string: `a=1; b=2`."""
    return {name: value.strip() for name, value in _COOKIE.findall(text)}


def key_of(spec: Mapping[str, Any]) -> str:
    """The idempotency key of the job: the same crawl with the same parameters is the same job."""
    digest = hashlib.sha256(msgspec.json.encode(spec, order="sorted")).hexdigest()
    return f"{KEY_PREFIX}{digest[:40]}"


def seed_of(asked: CrawlAsked) -> SeedLine:
    """The URL as a seed; its attributes go through to its items."""
    url = asked.url if "://" in asked.url else f"http://{asked.url}"
    return SeedLine(url, priority=asked.priority, meta=None if asked.attrs is None else {"attrs": asked.attrs})


def delay_s(asked: DomainAsked) -> float | None:
    """The delay that lets `hits` fetches pass in `window` seconds; None: none at all may pass, or no pace was given."""
    hits = int(asked.hits * asked.scale)
    return asked.window / hits if hits > 0 and asked.window > 0 else None


def domains_of(rows: Iterable[tuple[str, int]]) -> dict[str, dict[str, int]]:
    """Pending URLs by domain, from (domain, priority) of each: {domain: {total, high_priority, low_priority}}."""
    found: dict[str, dict[str, int]] = {}
    for domain, priority in rows:
        each = found.setdefault(domain, {"total": 0, "high_priority": priority, "low_priority": priority})
        each["total"] += 1
        each["high_priority"] = max(each["high_priority"], priority)
        each["low_priority"] = min(each["low_priority"], priority)
    return found
