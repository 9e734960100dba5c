"""Runs of a recurring job: what became of those that ended, when the next one is, and whether it will be in time."""

from odradek.contracts.codec import Message
from odradek.contracts.outcomes import JobState


class RunFigures(Message, frozen=True):
    """The ledger of one run over all partitions, without its reasons."""

    accepted: int = 0
    fetched: int = 0
    not_modified: int = 0
    redirected: int = 0
    skipped: int = 0
    failed: int = 0
    pages: int = 0
    """Kept, those that had not changed included."""
    items: int = 0
    bytes: int = 0


class RunNote(Message, frozen=True):
    """One run."""

    run: int
    due_ms: int = 0
    """When it was to begin."""
    began_ms: int = 0
    deadline_ms: int = 0
    """When its results were to be fresh; 0: there was no such time."""
    ended_ms: int = 0
    """0: it has not ended."""
    state: JobState | None = None
    """How it ended."""
    figures: RunFigures = RunFigures()


class HostLoad(Message, frozen=True):
    """What a run has to do on one host."""

    key: str
    """Politeness key."""
    urls: int = 0
    """That the run knows there."""
    open: int = 0
    """Of these, without an outcome."""
    gap_ms: int = 0
    """From one request to the next, as politely as the job asks: delay and time to answer, over the chains."""
    delay_ms: int = 0
    concurrency: int = 1


class RunPlan(Message, frozen=True):
    """What the owner of a job's home partition knows of its runs, and what it intends."""

    next_run: int = 0
    """Number of the run that comes next; 0: none will."""
    next_at_ms: int = 0
    """When it begins, as things are; 0: not known before something happens."""
    deadline_ms: int = 0
    """Of the run under way, else of the next; 0: there is none."""
    expected_ms: int = 0
    """When that run will have ended, as far as is known; 0: nothing is known."""
    missed: str | None = None
    """Why the deadline will not be met, and what would help; null: it will be met, as far as is known."""
    hosts: tuple[HostLoad, ...] = ()
    """Where the run takes longest, the longest first."""
    runs: tuple[RunNote, ...] = ()
    """The last ones, oldest first."""
