"""When a job is finished: found by the owner of its home partition in four steps, never by idling (rule G).

1. every partition reports nothing pending;
2. the fetchers' committed offsets have reached the end of `scheduled`, taken after step 1;
3. the parsers' have reached the end of `pages`, taken after step 2;
4. every frontier end, taken after step 3, is covered by a report in which the job's ledger is as it was in step 1:
   so no fact of this job came in between. (Other jobs' facts may; on a busy cluster there always are some.)
Anything else starts again. Then the indexer has to pass the ends of `items` and `logs`, taken after step 4,
and those of `pages` where the job keeps an archive.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from odradek import topics
from odradek.contracts import CLOSED, Counters, JobRecord, JobState, Progress, Reached, RunFigures


class Need(NamedTuple):
    """What has to be read next, and not before it was asked for."""

    what: Literal["ends", "committed"]
    topic: str
    """Without prefix."""
    group: str = ""
    """Whose committed offsets; without prefix."""


Offsets = Mapping[int, int]
"""By partition."""

_BEFORE: Final = tuple((topic, topics.GROUPS[topic]) for topic in (topics.SCHEDULED, topics.PAGES))
_AFTER: Final = tuple((topic, topics.GROUPS[topic]) for topic in (topics.ITEMS, topics.LOGS))
_ARCHIVED: Final = (topics.PAGES, topics.ARCHIVE_GROUP)


@dataclass(slots=True)
class _Attempt:
    """One go at the steps; dropped as soon as something contradicts it."""

    first: dict[int, Progress]
    waits: list[Need]
    """What is still to be read, in order."""
    ends: dict[int, int]
    """Of the topic whose committed offsets are waited for; then of the frontier."""
    at_ms: int = 0
    covered: bool = False


def _steps(*passed: tuple[str, str]) -> list[Need]:
    """That these groups have passed the ends of these topics, one after the other."""
    return [need for topic, group in passed for need in (Need("ends", topic), Need("committed", topic, group))]


class Completion:
    """One job's way to `Reached`, from what the shell feeds it. Time comes in; nothing is read here."""

    def __init__(self, job: str, partitions: int) -> None:
        self.job = job
        self._partitions = partitions
        self._record: JobRecord | None = None
        self._reports: dict[int, Progress] = {}
        self._attempt: _Attempt | None = None
        self._announced: tuple[int, int] | None = None
        self._started: tuple[int, int | None] = (0, None)
        """The newest run, and when it was first seen to have URLs."""

    # ---- what is fed

    def record_changed(self, record: JobRecord) -> None:
        """The job's newest record. A new epoch or run makes every announcement so far void."""
        known = self._record
        if known is not None and record.version < known.version:
            return
        if known is None or (record.epoch, record.run, record.wanted) != (known.epoch, known.run, known.wanted):
            self._attempt = None
        if record.seeding:
            self._attempt = None
        self._record = record

    def already_reached(self, reached: Reached) -> None:
        """A former owner of the home partition has announced this."""
        self._announced = max(self._announced or (0, 0), (reached.epoch, reached.run))

    @property
    def _run(self) -> int:
        """The newest run that a partition has begun; all have to report it."""
        told = (report.run for report in self._reports.values())
        return max((1 if self._record is None else self._record.run, *told))

    def reported(self, progress: Progress) -> None:
        """A partition's newest report."""
        known = self._reports.get(progress.partition)
        if known is not None and known.offset > progress.offset:
            return
        self._reports[progress.partition] = progress
        run, started_at_ms = self._started
        if progress.run > run or (progress.run == run and started_at_ms is None):
            self._started = (progress.run, progress.at_ms if progress.counters.accepted else None)
        attempt = self._attempt
        if attempt is not None and not attempt.covered and not _same(attempt.first[progress.partition], progress):
            self._attempt = None

    # ---- what is asked

    def needs(self, now_ms: int) -> Need | None:
        """What to read now; None: only reports or a record can bring it on. Ask again after each of them."""
        if self._attempt is None:
            self._begin(now_ms)
        attempt = self._attempt
        if attempt is None:
            return None
        if not attempt.waits and not attempt.covered:
            self._cover(attempt)
        return attempt.waits[0] if attempt.waits else None

    def answered(self, need: Need, offsets: Offsets) -> None:
        """What was read, after `needs` had asked for it; an answer to an older question is ignored."""
        attempt = self._attempt
        if attempt is None or not attempt.waits or attempt.waits[0] != need:
            return
        if need.what == "ends":
            attempt.ends = dict(offsets)
            attempt.waits.pop(0)
        elif all(offsets.get(partition, 0) >= end for partition, end in attempt.ends.items() if end):
            attempt.waits.pop(0)

    def reached(self, now_ms: int) -> Reached | None:
        """The announcement, once, when every step is done."""
        attempt, record = self._attempt, self._record
        if attempt is None or record is None or not attempt.covered or attempt.waits:
            return None
        self._attempt = None
        run = next(iter(attempt.first.values())).run
        self._announced = (record.epoch, run)
        return Reached(
            job=self.job,
            state=_state(record, attempt.first.values(), run),
            epoch=record.epoch,
            run=run,
            started_at_ms=self._started[1],
            at_ms=attempt.at_ms,
            indexed_at_ms=now_ms,
            figures=_figures(report.counters for report in attempt.first.values()),
        )

    # ---- steps

    def _begin(self, now_ms: int) -> None:
        """Step 1."""
        record = self._record
        if record is None or record.seeding:
            return
        run = self._run
        if not (record.seeded or _closed(record, self._reports.values(), run)):
            return
        if self._announced is not None and self._announced >= (record.epoch, run):
            return
        reports = self._reports.values()
        if len(reports) == self._partitions and all(_empty(report, record, run) for report in reports):
            self._attempt = _Attempt(
                dict(self._reports), [*_steps(*_BEFORE), Need("ends", topics.FRONTIER)], {}, at_ms=now_ms
            )

    def _cover(self, attempt: _Attempt) -> None:
        """Step 4: `attempt.ends` are the frontier's."""
        if all(self._reports[partition].offset >= end for partition, end in attempt.ends.items()):
            attempt.covered = True
            archives = self._record is not None and self._record.spec.get("archive") is not None
            attempt.waits = _steps(*_AFTER, *([_ARCHIVED] if archives else []))


def _empty(report: Progress, record: JobRecord, run: int) -> bool:
    """Nothing of that run is pending or still to be taken over, and the partition knows no newer record than we do."""
    return (
        not report.recovering
        and not report.renewing
        and report.counters.pending == 0
        and not report.sitemaps.get("pending")
        and report.run == run
        and report.version <= record.version
    )


def _same(before: Progress, now: Progress) -> bool:
    """No fact of the job came in between."""
    return (before.counters, before.sitemaps, before.epoch, before.run, before.version) == (
        now.counters, now.sitemaps, now.epoch, now.run, now.version,
    )  # fmt: skip


def _closed(record: JobRecord, reports: Iterable[Progress], run: int) -> JobState | None:
    """Cancelled or expired: as a person wanted it, or as the home partition found by the clock."""
    if record.wanted in CLOSED:
        return record.wanted
    return "expired" if any(each.closed == "expired" and each.run == run for each in reports) else None


def _state(record: JobRecord, reports: Iterable[Progress], run: int) -> JobState:
    """Cancelled and expired as wanted or found; `failed`: no page kept and at least one URL failed; else complete."""
    reports = tuple(reports)
    if (closed := _closed(record, reports, run)) is not None:
        return closed
    counters = [report.counters for report in reports]
    if any(each.failed for each in counters) and not any(each.kept for each in counters):
        return "failed"
    return "complete"


def _figures(ledgers: Iterable[Counters]) -> RunFigures:
    """The sum over all partitions."""
    sums: dict[str, int] = {}
    for ledger in ledgers:
        for name in RunFigures.__struct_fields__:
            sums[name] = sums.get(name, 0) + getattr(ledger, "kept" if name == "pages" else name)
    return RunFigures(**sums)
