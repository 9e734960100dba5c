"""The job specification, design §4: what a person asks of a crawl, with every default."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from odradek.schedule import cron_problem
from odradek.specification.extraction import ExtractRule
from odradek.specification.fetch import Fetch
from odradek.specification.parts import Count, Depth, Domain, Meta, Patterns, Strict, WebUrl
from odradek.specification.traps import TrapRules, Traps
from odradek.specification.webhook import Webhook
from odradek.units import Duration, Expiry
from odradek.urls import CrawlUrl, UrlRules, identify

_CRON = re.compile(
    r"\s*(@(yearly|annually|monthly|weekly|daily|hourly)|[\d*/,A-Za-z?L#W-]+(\s+[\d*/,A-Za-z?L#W-]+){4})\s*\Z"
)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d\Z")
_COLLECTION = re.compile(r"[a-z][a-z0-9_-]{0,62}\Z")
_TAKEN = ("dead_letters", "system")
"""Of other documents, or of MongoDB itself."""
_PLUGIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*\Z")


class Seed(Strict):
    """Where a crawl starts."""

    url: WebUrl
    priority: int | None = Field(default=None, ge=0, le=100)
    """Null: the job's."""
    depth: Depth = 0
    meta: Meta | None = None
    """Handed through to its items and logs, beside the job's own."""


def _extensions(value: Any) -> Any:
    if value == "default":
        return value
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise ValueError("must be the word default, or a list of extensions such as [pdf, zip]")
    return tuple(each.strip().lstrip(".").lower() for each in value)


class ScopeRules(Strict):
    """Which URLs belong to the crawl."""

    allowed_domains: tuple[Domain, ...] | None = None
    """A host and its subdomains; null: per seed its registered domain (if the seed is that domain or its www), else
    its host; an IP address means itself."""
    subdomains: bool = True
    include: Patterns = ()
    exclude: Patterns = ()
    """Wins over include."""
    deny_extensions: Annotated[
        Literal["default"] | tuple[str, ...],
        BeforeValidator(_extensions),
    ] = "default"
    max_depth: Depth | None = None
    max_pages: Count | None = Field(default=None, ge=1)
    """Exact over the cluster: never more pages kept, and reached if that many exist."""
    max_pages_per_host: Count | None = Field(default=None, ge=1)
    follow_links: bool = True
    sitemaps: bool = True
    drop_query_parameters: tuple[str, ...] = ("utm_*", "gclid", "fbclid")
    sort_query: bool = True

    @property
    def url_rules(self) -> UrlRules:
        """What the job changes about the key of its URLs."""
        return UrlRules(self.drop_query_parameters, self.sort_query)


class Politeness(Strict):
    """How gently a host is treated."""

    respect_robots: bool = True
    delay: Duration = 1.0
    """From the end of one fetch to the start of the next, for each of `concurrency_per_host` chains."""
    concurrency_per_host: int = Field(default=1, ge=1, le=1000)
    max_delay: Duration = 60.0
    """What a crawl-delay of robots.txt, and the delay that a slow host gets, are clamped to."""
    latency_factor: float = Field(default=0.0, ge=0, le=100)
    """The delay is at least so many times the host's mean time to answer; 0: the same delay for fast and slow hosts."""


def _zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{text!r} is not a time zone; write one such as Europe/Berlin or UTC") from None
    return text


class Schedule(Strict):
    """When a recurring job runs."""

    every: Annotated[Duration, Field(gt=0)] | None = None
    cron: str | None = None
    """Five fields: minute, hour, day, month, weekday."""
    fresh_by: str | None = None
    """A time of day, HH:MM, at which results are to be fresh."""
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    conditional: bool = True
    """Pages that did not change are neither sent nor read again; false: every run reads every page."""
    adaptive: Annotated[Duration, Field(gt=0)] | None = None
    """Pages that stay the same are visited less often, at least once in this time; null: every page in every run."""
    gone_grace: Duration = 3600.0
    """Items of a page that answers 404 or 410 in two runs are gone, at the earliest so long after the first time."""

    @model_validator(mode="after")
    def _one(self) -> "Schedule":
        if sum(way is not None for way in (self.every, self.cron, self.fresh_by)) != 1:
            raise ValueError("needs exactly one of every, cron or fresh_by")
        if self.cron is not None and not _CRON.match(self.cron):
            raise ValueError(f"{self.cron!r} is not a cron line; it has five fields, such as 0 6 * * 1")
        if self.cron is not None and (problem := cron_problem(self.cron)) is not None:
            raise ValueError(f"the cron line {self.cron!r} is wrong: {problem}")
        if self.fresh_by is not None and not _CLOCK.match(self.fresh_by):
            raise ValueError(f'{self.fresh_by!r} is not a time of day; write it as "08:00"')
        return self


def _collection(text: str) -> str:
    if not _COLLECTION.match(text) or text in _TAKEN:
        raise ValueError(
            f"{text!r} cannot name a collection; take lower-case letters, digits, _ and -, beginning with a letter, "
            f"at most 63 of them, and not {' or '.join(_TAKEN)}"
        )
    return text


class StoredItems(Strict):
    """Where items are stored."""

    collection: Annotated[str, AfterValidator(_collection)] = "items"
    """Of MongoDB; several jobs may share one."""


class Archive(Strict):
    """Where pages are kept."""

    warc: str = Field(min_length=1)
    """A folder, or s3://bucket/prefix."""


def _plugin(text: str) -> str:
    if not _PLUGIN.match(text):
        raise ValueError(f"{text!r} is not a plugin; write package.module:function")
    return text


class JobSpecification(Strict):
    """A crawl, as a YAML file or JSON body. Unknown fields are refused by name."""

    name: str | None = Field(default=None, min_length=1, max_length=200)
    """Null: the first seed's host."""
    seeds: tuple[Seed, ...] = ()
    scope: ScopeRules = ScopeRules()
    traps: TrapRules = Traps()
    strategy: Literal["breadth_first", "depth_first"] = "breadth_first"
    priority: int = Field(default=50, ge=0, le=100)
    """Higher first."""
    expires: Expiry | None = None
    """Duration from acceptance, or an ISO time."""
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()
    extract: tuple[ExtractRule, ...] | None = None
    """Null: one record of type `page` for each page kept; []: none."""
    plugins: tuple[Annotated[str, AfterValidator(_plugin)], ...] = ()
    meta: Meta = {}
    """Handed through to every item and log."""
    schedule: Schedule | None = None
    webhooks: tuple[Webhook, ...] = Field(default=(), max_length=20)
    """Told of every change of the job's state; a URL, or {url, secret, states}."""
    archive: Archive | None = None
    items: StoredItems = StoredItems()

    @model_validator(mode="before")
    @classmethod
    def _named_by_its_first_seed(cls, values: Any) -> Any:
        if not isinstance(values, dict) or values.get("name") is not None:
            return values
        seeds = values.get("seeds")
        first = seeds[0] if isinstance(seeds, list | tuple) and seeds else None
        url = first.get("url") if isinstance(first, dict) else first
        found = identify(url) if isinstance(url, str) else None
        return {**values, "name": found.host[:200]} if isinstance(found, CrawlUrl) else values

    @field_validator("seeds", "webhooks", mode="before")
    @classmethod
    def _url_alone_will_do(cls, values: Any) -> Any:
        if not isinstance(values, list | tuple):
            return values
        return [{"url": value} if isinstance(value, str) else value for value in values]

    @field_validator("extract")
    @classmethod
    def _types_are_unique(cls, rules: tuple[ExtractRule, ...] | None) -> tuple[ExtractRule, ...] | None:
        types = [rule.type for rule in rules or ()]
        for name in types:
            if types.count(name) > 1:
                raise ValueError(f"two rules have the type {name!r}; a type is unique in a job")
        return rules

    def expires_at_ms(self, accepted_at_ms: int) -> int | None:
        """The instant at which a job accepted then expires, in milliseconds since 1970; null: never."""
        if self.expires is None:
            return None
        if isinstance(self.expires, str):
            return int(datetime.fromisoformat(self.expires).timestamp() * 1000)
        return accepted_at_ms + int(self.expires * 1000)

    def to_wire(self) -> dict[str, Any]:
        """As JSON-able values, for `JobRecord.spec` and `JobChanged.spec`; only what differs from the defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @classmethod
    def from_wire(cls, spec: dict[str, Any]) -> "JobSpecification":
        """The specification in a message."""
        return cls.model_validate(spec)

    @classmethod
    def parse(cls, values: dict[str, Any]) -> "JobSpecification":
        """The specification that a person gave.

        Raises:
            pydantic.ValidationError: see `problems`; `validated` raises a UserError instead.
        """
        return cls.model_validate(values)
