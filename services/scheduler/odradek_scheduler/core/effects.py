"""What a folded batch means for the memory, which is rebuilt from the tables at every take-over and never written."""

from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.contracts import Fact


class ToPartition(NamedTuple):
    """A fact for a frontier partition."""

    partition: int
    fact: Fact


@dataclass(slots=True)
class Effects:
    """Facts in the terms of the memory. A run is a job and run as one word (`run_id`)."""

    offset: int
    pages: list[tuple[tuple[str, str, int], int]] = field(default_factory=list)
    """New backlog pages: (run, host, priority), URLs."""
    merged: list[tuple[tuple[str, str, int], tuple[int, ...]]] = field(default_factory=list)
    """Backlog pages that have ended because another holds their URLs: (run, host, priority), offsets."""
    ended: list[tuple[str, str, int]] = field(default_factory=list)
    """URLs that have an outcome now: run, fingerprint, try."""
    retried: list[tuple[str, str, int, int]] = field(default_factory=list)
    """Run, fingerprint, the try that failed, when the next is due (ms)."""
    parsed: list[tuple[str, str, int]] = field(default_factory=list)
    """Outcomes that changed nothing: run, fingerprint, try."""
    fetched: list[tuple[str, str, int, str, int]] = field(default_factory=list)
    """Answers: run, fingerprint, try, host, when their request was sent (ms; 0: not told)."""
    unheard: list[tuple[str, str, str]] = field(default_factory=list)
    """Outcomes of answers that nothing had told of: run, fingerprint, host."""
    given_back: list[tuple[str, str, int, str, int]] = field(default_factory=list)
    """The same of requests that a fetcher gave back."""
    robots: list[tuple[str, str, int]] = field(default_factory=list)
    """Host and origin of robots.txt answers, and the lease of their request (ms; 0: not told)."""
    reserved: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Run and fingerprints of consumed reservations."""
    listed: list[tuple[str, str]] = field(default_factory=list)
    """Run and host of origins whose sitemaps were handed to the run."""
    told: list[ToPartition] = field(default_factory=list)
    """Facts that follow from this batch; they leave before it is committed."""
    closed: list[str] = field(default_factory=list)
    """Runs whose open URLs are skipped from now on."""
    reopened: list[str] = field(default_factory=list)
    """Runs that a reached budget had closed and a higher one has opened again."""
    foreseen: list[str] = field(default_factory=list)
    """Jobs of which a partition has told where their run takes longest."""
    superseded: list[str] = field(default_factory=list)
    """Runs that had reached their budget when the next one began: their pages end now."""
    renewed: list[str] = field(default_factory=list)
    """Jobs of which a run has taken over some more of what the one before knew."""
    purged: list[str] = field(default_factory=list)
    """Jobs whose rows end from now on."""
    hosts: list[str] = field(default_factory=list)
    """Hosts of which something is known now that was not."""
    jobs: list[str] = field(default_factory=list)
    """Jobs whose specification, wanted state or run may have changed."""
    runs: list[str] = field(default_factory=list)
    """Runs whose ledger was touched."""
