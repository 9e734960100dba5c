"""The conversation between scheduler, fetcher and parser: a request goes out, a page comes back."""

from typing import Any, Literal

import msgspec

from odradek.contracts.codec import Instant, Message
from odradek.contracts.outcomes import Outcome

Kind = Literal["page", "robots", "sitemap"]
"""`robots` and `sitemap` requests are outside the job's ledger and `max_pages`."""


def ledger_run(run: int, kind: str) -> int:
    """The run under which the frontier keeps a URL: sitemaps of run n have a ledger of their own, as run -n."""
    return -run if kind == "sitemap" else run


class Hop(Message, frozen=True):
    """One redirect that led here: the URL that answered and its status."""

    url: str
    status: int


class FetchRequest(Message, frozen=True):
    """A URL is due and its host is free: fetch it. Topic `scheduled`."""

    job: str
    url: str
    """As the site gave it; the canonical URL is only the key."""
    fp: str
    """Fingerprint, 32 hexadecimal digits."""
    key: str
    """Politeness key."""
    run: int = 1
    attempt: int = msgspec.field(default=0, name="try")
    """0 for the first; `Fetched` and `Parsed` echo it."""
    kind: Kind = "page"
    depth: int = 0
    priority: int = 50
    seed: bool = False
    """A seed, or the redirect target of one."""
    via: str | None = None
    """URL of the page where it was found."""
    site: str | None = None
    """Scope of the seed it descends from, where the job names no `allowed_domains`: a domain, or one host."""
    chain: tuple[Hop, ...] = ()
    """Redirects that led here, oldest first; at most 10."""
    meta: dict[str, Any] | None = None
    """A seed's own meta; handed on to its items and logs."""
    spec_version: int = 0
    """Version of the job record whose specification applies; a fetcher that knows an older one waits for it."""
    etag: str | None = None
    last_modified: str | None = None
    digest: str | None = None
    """Of the body that was read last: the same body is `not_modified`."""
    sent_at_ms: int = 0
    lease_until_ms: int = 0
    """No fetch starts after this instant; without an outcome by then the URL is due again with the same try."""

    @property
    def ledger_run(self) -> int:
        """The run under which the frontier keeps it; its `Parsed` carries it."""
        return ledger_run(self.run, self.kind)


class Timings(Message, frozen=True):
    """Milliseconds of one fetch; null where the step did not happen."""

    dns_ms: float | None = None
    """Until the name had checked addresses; next to nothing when they were known."""
    connect_ms: float | None = None
    """Until TCP was connected."""
    tls_ms: float | None = None
    """Until the first TLS handshake was over."""
    first_byte_ms: float | None = None
    """From the beginning to the whole head of the answer."""
    total_ms: float = 0.0
    """From the beginning to the end, redirects followed on the spot included."""


class PageMeta(Message, frozen=True):
    """What a fetch gave, beside the body. Header `page` on topic `pages`; a failed fetch has no body."""

    request: FetchRequest
    outcome: Outcome
    """What the fetcher knows: fetched, not_modified, redirected, skipped (content_type) or failed."""
    fetched_at_ms: Instant
    """When the answer was complete."""
    reason: str | None = None
    """From the closed lists; null for fetched."""
    error: str | None = None
    """One sentence for a person; null when there was no error."""
    retry_in_ms: int | None = None
    """A failure that is to be tried again after so long; null: final."""
    status: int | None = None
    final_url: str | None = None
    """Where the body came from, after redirects followed in place; null: the request's URL."""
    location: str | None = None
    """Absolute target of a redirect; null when there is none."""
    content_type: str | None = None
    """The header's value, untouched."""
    charset: str | None = None
    """From the content-type header, lower case."""
    headers: dict[str, str] = {}
    """Lower-case names; only those that later stages read (etag, last-modified, x-robots-tag, link, …)."""
    size_bytes: int = 0
    """Of the body after content-decoding."""
    declared_bytes: int | None = None
    """Content-Length as sent; null when absent or wrong in form."""
    truncated: bool = False
    digest: str | None = None
    """128-bit hash of the body; null without body."""
    timings: Timings = Timings()
    remote_address: str | None = None
    protocol: str | None = None
    """HTTP/1.1 or HTTP/2."""
    tls_verified: bool | None = None
    """Null for http."""
    retry_after_s: float | None = None
    """The site's own Retry-After; clamped by the scheduler."""
