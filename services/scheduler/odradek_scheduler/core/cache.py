"""Decoded values of the small tables. `seen` and `backlog` are read where they are needed and never kept."""

from typing import Any, Final, TypeVar

from odradek_scheduler.core.jobs import Job
from odradek_scheduler.core.keys import home_key, host_key, job_key, ledger_key, robots_key, share_key
from odradek_scheduler.core.state import Home, Host, HostShare, Ledger, Robots, unpack
from odradek_scheduler.core.tables import TableName, Tables

_LIMIT: Final = 20_000
"""Hosts or ledgers that stay decoded; half of them go when it is passed."""
_ROBOTS_LIMIT: Final = 1_000
"""The same for robots.txt files."""
ROBOTS_MOST: Final = 8 * 1024 * 1024
"""Characters of all of them, which may be 500 KiB each; there is a cache in each of a process's partitions."""

V = TypeVar("V")
K = TypeVar("K")


class Cache:
    """The fold changes these values in place and writes every one it has touched, so a dropped one loses nothing."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.jobs: dict[str, Job] = {}
        """All jobs: few, and each report needs them."""
        self.purged: set[str] = set()
        """Jobs that were purged."""
        self.homes: dict[str, Home] = {}
        """All budgets whose home is here, by job and run."""
        self._ledgers: dict[str, Ledger] = {}
        self._hosts: dict[str, Host] = {}
        self._robots: dict[tuple[str, str], Robots] = {}
        self._robots_characters = 0
        """Of those read since they were last counted, and of all there were then."""
        self._shares: dict[tuple[str, str], HostShare] = {}
        self._values: dict[bytes, Any] = {}

    def load(self) -> None:
        """Jobs and budgets from the tables."""
        self.jobs = {key[2:].decode(): unpack(Job, value) for key, value in self._tables.scan("ledger", job_key(""))}
        self.homes = {key[2:].decode(): unpack(Home, value) for key, value in self._tables.scan("ledger", home_key(""))}
        self.purged = {job for job, record in self.jobs.items() if record.purged}

    def ledger(self, run: str) -> Ledger:
        """The ledger of a job and run; an empty one where there is none yet."""
        found = self._ledgers.get(run)
        if found is None:
            found = self._ledgers[run] = self._read("ledger", ledger_key(run), Ledger)
        return found

    def job(self, job: str) -> Job:
        """What is known of a job; one of version -1 where nothing is."""
        found = self.jobs.get(job)
        return found if found is not None else self.jobs.setdefault(job, Job())

    def home(self, run: str) -> Home:
        """The budget of a job and run in its home partition."""
        found = self.homes.get(run)
        return found if found is not None else self.homes.setdefault(run, Home())

    def host(self, key: str) -> Host:
        """What is known of a host."""
        found = self._hosts.get(key)
        if found is None:
            found = self._hosts[key] = self._read("hosts", host_key(key), Host)
        return found

    def share(self, run: str, key: str) -> HostShare:
        """What a host has of a job and run that limits its pages by host."""
        found = self._shares.get((run, key))
        if found is None:
            found = self._shares[run, key] = self._read("ledger", share_key(run, key), HostShare)
        return found

    def value(self, kind: type[V], key: bytes) -> V:
        """Another small value of `ledger`, by its key; an empty one where there is none yet."""
        found: V | None = self._values.get(key)
        if found is None:
            found = self._values[key] = self._read("ledger", key, kind)
        return found

    def robots(self, key: str, origin: str) -> Robots:
        """What is known of an origin's robots.txt; one of offset -1 where nothing is."""
        found = self._robots.get((key, origin))
        if found is None:
            found = self._robots[key, origin] = self._read("hosts", robots_key(key, origin), Robots)
            self._robots_characters += len(found.text or "")
        return found

    def robots_told(self, text: str | None) -> None:
        """A robots.txt that is kept has this text now."""
        self._robots_characters += len(text or "")

    def forget(self, job: str) -> None:
        """Nothing of a purged job but that it is one; its rows in the tables may have ended."""
        self.purged.add(job)
        own = f"{job}\0"
        for values in (self.homes, self._ledgers):
            for run in [run for run in values if run.startswith(own)]:
                del values[run]
        for share in [share for share in self._shares if share[0].startswith(own)]:
            del self._shares[share]
        for key in [key for key in self._values if key[2:].startswith(own.encode()) or key[2:] == job.encode()]:
            del self._values[key]

    def trim(self) -> None:
        """Forget the older half of what has grown too large; never while a batch is folded."""
        _halve(self._ledgers, _LIMIT)
        _halve(self._hosts, _LIMIT)
        _halve(self._shares, _LIMIT)
        _halve(self._values, _LIMIT)
        _halve(self._robots, _ROBOTS_LIMIT)
        while self._robots_characters > ROBOTS_MOST:
            self._robots_characters = sum(len(each.text or "") for each in self._robots.values())
            if self._robots_characters > ROBOTS_MOST:
                _halve(self._robots, 0)

    def _read(self, table: TableName, key: bytes, kind: type[V]) -> V:
        value = self._tables.get(table, key)
        return kind() if value is None else unpack(kind, value)


def _halve(values: dict[Any, Any], limit: int) -> None:
    if len(values) > limit:
        for key in list(values)[: len(values) // 2]:
            del values[key]
