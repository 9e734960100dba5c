"""The job specification, design §4: what a person asks of a crawl, with every default."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from odradek.specification.extraction import ExtractRule, Pattern, Strict
from odradek.specification.units import Duration, Size

MAX_BODY_BYTES = 15 * 1024 * 1024
ACCEPTED_TYPES = (
    "text/html", "application/xhtml+xml", "application/xml", "text/xml", "application/json",
    "application/rss+xml", "application/atom+xml",
)  # fmt: skip
_DOMAIN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s/:@?#]+)(:\d{1,5})?\Z")


class Seed(Strict):
    """Where a crawl starts."""

    url: str
    priority: int | None = Field(default=None, ge=0, le=100)
    """Null: the job's."""
    depth: int = Field(default=0, ge=0)
    meta: dict[str, Any] | None = None


def _domain(text: str) -> str:
    if not _DOMAIN.match(text):
        raise ValueError(f"{text!r} is not a host; write books.example or books.example:8080, without scheme or path")
    return text.lower().rstrip(".")


class ScopeRules(Strict):
    """Which URLs belong to the crawl."""

    allowed_domains: tuple[Annotated[str, AfterValidator(_domain)], ...] | None = None
    """A host and its subdomains; null: per seed its registered domain (if the seed is that domain or its www), else
    its host; an IP address means itself."""
    subdomains: bool = True
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    """Wins over include."""
    deny_extensions: Literal["default"] | tuple[str, ...] = "default"
    max_depth: int | None = Field(default=None, ge=0)
    max_pages: int | None = Field(default=None, ge=1)
    """Exact over the cluster: never more pages kept, and reached if that many exist."""
    max_pages_per_host: int | None = Field(default=None, ge=1)
    follow_links: bool = True
    sitemaps: bool = True
    drop_query_parameters: tuple[str, ...] = ("utm_*", "gclid", "fbclid")
    sort_query: bool = True


class Politeness(Strict):
    """How gently a host is treated."""

    respect_robots: bool = True
    delay: Duration = 1.0
    """From the end of one fetch to the start of the next, for each of `concurrency_per_host` chains."""
    concurrency_per_host: int = Field(default=1, ge=1, le=1000)
    max_delay: Duration = 60.0
    """What a crawl-delay of robots.txt is clamped to."""


class Auth(Strict):
    """Credentials for the site, as `${env:NAME}`; resolved in the fetcher, redacted everywhere."""

    basic: str | None = None
    """user:password"""
    bearer: str | None = None


class Fetch(Strict):
    """How a URL is asked for."""

    method: Literal["GET", "POST", "HEAD"] = "GET"
    body: str | None = None
    user_agent: str | None = None
    user_agents: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    cookies: dict[str, str] = {}
    auth: Auth | None = None
    proxies: tuple[str, ...] = ()
    http2: bool = True
    verify_tls: bool = True
    timeout: Duration = 30.0
    """Total; connect 10 s, read 15 s."""
    max_bytes: Annotated[Size, Field(ge=1, le=MAX_BODY_BYTES)] = 8 * 1024 * 1024
    retries: int = Field(default=3, ge=0, le=20)
    accept: tuple[str, ...] = ACCEPTED_TYPES


class Schedule(Strict):
    """When a recurring job runs."""

    every: Duration | None = None
    cron: str | None = None
    fresh_by: str | None = None
    timezone: str = "UTC"

    @model_validator(mode="after")
    def _one(self) -> "Schedule":
        if sum(way is not None for way in (self.every, self.cron, self.fresh_by)) != 1:
            raise ValueError("a schedule needs exactly one of every, cron or fresh_by")
        return self


class Archive(Strict):
    """Where pages are kept."""

    warc: str


class JobSpecification(Strict):
    """A crawl, as a YAML file or JSON body. Unknown fields are refused by name."""

    name: str | None = Field(default=None, max_length=200)
    seeds: tuple[Seed, ...] = ()
    scope: ScopeRules = ScopeRules()
    strategy: Literal["breadth_first", "depth_first"] = "breadth_first"
    priority: int = Field(default=50, ge=0, le=100)
    expires: str | float | None = None
    """Duration from acceptance, or an ISO time."""
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()
    extract: tuple[ExtractRule, ...] | None = None
    """Null: one record of type `page` for each page kept; []: none."""
    plugins: tuple[str, ...] = ()
    meta: dict[str, Any] = {}
    schedule: Schedule | None = None
    webhooks: tuple[str, ...] = ()
    archive: Archive | None = None

    @field_validator("seeds", mode="before")
    @classmethod
    def _urls_are_seeds(cls, seeds: Any) -> Any:
        if not isinstance(seeds, list | tuple):
            return seeds
        return [{"url": seed} if isinstance(seed, str) else seed for seed in seeds]

    @field_validator("extract")
    @classmethod
    def _types_are_unique(cls, rules: tuple[ExtractRule, ...] | None) -> tuple[ExtractRule, ...] | None:
        types = [rule.type for rule in rules or ()]
        for name in types:
            if types.count(name) > 1:
                raise ValueError(f"two rules have the type {name!r}; a type is unique in a job")
        return rules

    def to_wire(self) -> dict[str, Any]:
        """As JSON-able values, for `JobRecord.spec` and `JobChanged.spec`; only what differs from the defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    @classmethod
    def from_wire(cls, spec: dict[str, Any]) -> "JobSpecification":
        """The specification in a message."""
        return cls.model_validate(spec)
