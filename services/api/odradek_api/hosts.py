"""Hosts: what the fleet knows of them, and what a person tells it to do."""

from odradek.clock import now_ms
from odradek.contracts import HostChanged, HostReport
from odradek.kafka.records import ToFrontier
from odradek.urls import CrawlUrl, identify, politeness_key
from odradek_api.core.problems import Problem
from odradek_api.ports import Log, Newest


class Hosts:
    """The view of the topic `hosts`, and `HostChanged` facts for the partition that owns a host."""

    def __init__(self, log: Log, reports: Newest[HostReport]) -> None:
        self._log, self._reports = log, reports

    def after(self, cursor: str | None, limit: int, containing: str | None = None) -> list[HostReport]:
        """Reports in the order of their keys, after `cursor`."""
        found = sorted(
            (report for key, report in self._reports.items() if not containing or containing in key),
            key=lambda report: report.key,
        )
        return [report for report in found if cursor is None or report.key > cursor][:limit]

    def get(self, host: str) -> HostReport:
        """What is known of the politeness key of a host.

        Raises:
            Problem: 404 when nothing is, 422 for what is no host.
        """
        key = key_of(host)
        report = self._reports.get(key)
        if report is None:
            raise Problem(404, "Unknown host", f"No URL of {key!r} was ever in the frontier.")
        return report

    async def change(
        self, host: str, *, delay_s: float | None, concurrency: int | None, blocked: bool, clear_back_off: bool
    ) -> str:
        """Override what the fleet does to a host; returns its politeness key.

        Raises:
            Problem: 422 for what is no host.
        """
        key = key_of(host)
        fact = HostChanged(
            key=key,
            delay_ms=None if delay_s is None else round(delay_s * 1000),
            concurrency=concurrency,
            blocked=blocked,
            clear_back_off=clear_back_off,
            at_ms=now_ms(),
        )
        await self._log.send((), [ToFrontier(key, fact)])
        return key


def key_of(host: str) -> str:
    """The politeness key of a host as a person writes it.

    Raises:
        Problem: 422.
    """
    found = identify(f"http://{host}/") if host and not set("/?#@\\ ") & set(host) else "malformed"
    if not isinstance(found, CrawlUrl):
        message = f"{host!r} is no host; write books.example"
        raise Problem(422, "Not a host", message, errors=[{"field": "host", "message": message}])
    return politeness_key(found.host)
