"""What one exchange saw on its way: noted by the connection that it opens, wherever in the library that happens."""

from contextvars import ContextVar
from dataclasses import dataclass

import httpcore


@dataclass(slots=True)
class Probe:
    """Steps of one exchange; null where the step did not happen (a connection was used again)."""

    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    dialled_s: float = 0.0
    """When the connection was begun, by `time.perf_counter`."""
    address: str | None = None
    opened: bool = False
    """A connection was opened (or tried) for this exchange."""
    stream: httpcore.AsyncNetworkStream | None = None
    """What httpcore was given; it forgets to close it when a SOCKS proxy fails."""


PROBE: ContextVar[Probe] = ContextVar("probe")
