"""Pinned connections that note what an exchange saw on its way."""

import httpcore

from odradek.pinning import PinningBackend
from odradek_fetcher.probe import PROBE, Probe


class ProbedBackend(PinningBackend):
    """Tells the probe of the exchange that opens a connection."""

    def asked(self) -> None:
        """Note that a connection was opened or tried."""
        _probe().opened = True

    def resolved(self, took_ms: float) -> None:
        """Note the time of the look-up."""
        _probe().dns_ms = took_ms

    def connected(self, address: str, took_ms: float, stream: httpcore.AsyncNetworkStream) -> None:
        """Note where the connection leads."""
        probe = _probe()
        probe.address, probe.connect_ms, probe.stream = address, took_ms, stream


def _probe() -> Probe:
    return PROBE.get(None) or Probe()
