"""The closed lists of what can become of a URL and why; nothing else is ever reported."""

from typing import Literal, get_args

Outcome = Literal["fetched", "not_modified", "redirected", "skipped", "failed"]
"""The terminal states of an accepted URL."""

SkipReason = Literal[
    "robots", "expired", "cancelled", "budget_pages", "budget_host", "content_type", "trap", "host_blocked", "not_due",
]  # fmt: skip
"""Why an accepted URL is not fetched; `not_due`: it stays the same so often that this run leaves it out."""

RefusalReason = Literal[
    "scheme", "scope", "excluded", "extension", "depth", "nofollow", "too_long", "malformed",
    "private_address", "late",
]  # fmt: skip
"""Why a link or seed was never accepted; `late`: it arrived after the job had been cancelled or had expired."""

FailureClass = Literal[
    "dns", "connect", "tls", "timeout_connect", "timeout_read", "timeout_total", "too_slow", "reset",
    "protocol", "decode", "bomb", "redirect_limit", "redirect_loop", "soft_blocked", "private_address",
    "proxy", "robots_unavailable", "poison",
]  # fmt: skip
"""Why a fetch failed, apart from `http_NNN` (a final status that is no success)."""

MISSING: tuple[str, ...] = ("http_404", "http_410")
"""How a fetch fails of a page that is not there any more."""

GIVEN_BACK: frozenset[str] = frozenset(("paused", "inherited", "abandoned", "overdue"))
"""Why a fetcher gives a request back, to be sent again with the same try: its job is paused; it came with a partition
of another fetcher, which may have carried it out; it was broken off because its partition may be another's by now; a
fetch might not end within its lease."""

OUTCOMES: tuple[str, ...] = get_args(Outcome)
SKIP_REASONS: tuple[str, ...] = get_args(SkipReason)
REFUSAL_REASONS: tuple[str, ...] = get_args(RefusalReason)
FAILURE_CLASSES: tuple[str, ...] = get_args(FailureClass)

JobState = Literal["waiting", "running", "paused", "complete", "cancelled", "expired", "failed"]
"""`waiting`: no seed yet, or between runs; `failed`: no page kept and a URL failed, or it cannot run."""

Wanted = Literal["running", "paused", "cancelled", "expired"]
"""What a person (or the clock) asked of a job."""

CLOSED: tuple[Wanted, ...] = ("cancelled", "expired")
"""Wanted states that nothing leads back from."""
FINAL_STATES: tuple[JobState, ...] = ("complete", "failed", *CLOSED)
"""States in which a job does nothing more by itself."""
