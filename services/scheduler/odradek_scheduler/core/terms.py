"""What dispatch needs to know of a job, read once from its specification."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pydantic import ValidationError

from odradek.specification import JobSpecification, Schedule, reading_rules
from odradek.specification.traps import Traps
from odradek_scheduler.core.jobs import Job

_TRAPS: Final = Traps()
LEASE_GRACE_MS: Final = 30_000
"""A lease is the total timeout of a fetch and this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """One job, as far as its URLs are to be sent."""

    version: int
    run: int
    wanted: str
    readable: bool = True
    """False when the specification cannot be read here: nothing is sent."""
    priority: int = 50
    depth_first: bool = False
    delay_ms: int = 1000
    concurrency: int = 1
    max_delay_ms: int = 60_000
    latency_factor: float = 0.0
    """The delay is at least so many times the host's mean time to answer."""
    respect_robots: bool = True
    agents: tuple[str, ...] = ()
    """What robots.txt is asked for: one name, or several in turn, and all must be allowed."""
    lease_ms: int = 60_000
    retries: int = 3
    max_pages: int | None = None
    max_pages_per_host: int | None = None
    traps: Traps = _TRAPS
    sitemaps: bool = True
    expires_at_ms: int | None = None
    schedule: Schedule | None = None
    rules: str = ""
    """Of reading pages, in short; what was read with other rules is read again."""

    @property
    def longest_rest_ms(self) -> int:
        """A page that stays the same is visited at least so often; 0: in every run."""
        adaptive = None if self.schedule is None else self.schedule.adaptive
        return 0 if adaptive is None else round(adaptive * 1000)

    @property
    def for_sitemaps(self) -> "Terms":
        """What applies to the sitemaps of the job: as to its pages, without limits."""
        return _for_sitemaps(self)

    @property
    def limited(self) -> bool:
        """True when a URL needs a permit, of the job or of its host."""
        return self.max_pages is not None or self.max_pages_per_host is not None

    @property
    def active(self) -> bool:
        """True when its URLs may be sent."""
        return self.readable and self.wanted == "running"


@lru_cache(maxsize=1000)
def _for_sitemaps(terms: Terms) -> Terms:
    return replace(terms, run=-terms.run, max_pages=None, max_pages_per_host=None, sitemaps=False)


def terms_of(job: Job, default_agent: str) -> Terms:
    """The terms in a job record; a job not heard of yet, or one that cannot be read, sends nothing."""
    if job.version < 0:
        return Terms(version=job.version, run=job.run, wanted="unknown", readable=False)
    try:
        spec = JobSpecification.from_wire(job.spec)
    except ValidationError:
        return Terms(version=job.version, run=job.run, wanted=job.wanted, readable=False)
    return Terms(
        version=job.version,
        run=job.run,
        wanted=job.wanted,
        priority=spec.priority,
        depth_first=spec.strategy == "depth_first",
        delay_ms=round(spec.politeness.delay * 1000),
        concurrency=spec.politeness.concurrency_per_host,
        max_delay_ms=round(spec.politeness.max_delay * 1000),
        respect_robots=spec.politeness.respect_robots,
        latency_factor=spec.politeness.latency_factor,
        agents=_agents(spec, default_agent),
        lease_ms=round(spec.fetch.timeout * 1000) + LEASE_GRACE_MS,
        retries=spec.fetch.retries,
        max_pages=spec.scope.max_pages,
        max_pages_per_host=spec.scope.max_pages_per_host,
        traps=spec.traps,
        sitemaps=spec.scope.sitemaps,
        expires_at_ms=spec.expires_at_ms(job.created_at_ms),
        schedule=spec.schedule,
        rules="" if spec.schedule is None else reading_rules(job.spec),
    )


def _agents(spec: JobSpecification, default_agent: str) -> tuple[str, ...]:
    """Whom the site sees: a header of that name, the agents in turn, the job's own, or ours."""
    named = next((value for name, value in spec.fetch.headers.items() if name.lower() == "user-agent"), None)
    return (named,) if named else spec.fetch.user_agents or (spec.fetch.user_agent or default_agent,)
