"""Where a job stands: the sum of its partitions' reports. O(partitions) at any backlog."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from odradek.contracts import (
    CLOSED,
    COUNTED_FIELDS,
    FINAL_STATES,
    OUTCOME_FIELDS,
    Counters,
    JobRecord,
    JobState,
    Progress,
    Reached,
    Recount,
    counts_agree,
    decode,
)


@dataclass(frozen=True, slots=True)
class Standing:
    """One job as a whole."""

    record: JobRecord
    reports: tuple[Progress, ...]
    reached: Reached | None

    @property
    def counters(self) -> Counters:
        """The ledger over all partitions."""
        return total(report.counters for report in self.reports)

    @property
    def in_flight(self) -> int:
        """URLs sent to the fetchers and not yet finished; a share of pending."""
        return sum(report.in_flight for report in self.reports)

    @property
    def sitemaps(self) -> dict[str, int]:
        """Sitemaps over all partitions."""
        found: Counter[str] = Counter()
        for report in self.reports:
            found.update(report.sitemaps)
        return dict(found)

    @property
    def state(self) -> JobState:
        """What a person would call the job's state now."""
        return state_of(self.record, self.reached)


def total(ledgers: Iterable[Counters]) -> Counters:
    """The sum of ledgers; the equations hold in it because they hold in each."""
    numbers: dict[str, int] = {}
    reasons: dict[str, dict[str, int]] = {"skipped": {}, "failed": {}, "refused": {}}
    for ledger in ledgers:
        for name in Counters.__struct_fields__:
            if name != "reasons":
                numbers[name] = numbers.get(name, 0) + getattr(ledger, name)
        for outcome, by_reason in ledger.reasons.items():
            mine = reasons.setdefault(outcome, {})
            for reason, count in by_reason.items():
                mine[reason] = mine.get(reason, 0) + count
    return msgspec.structs.replace(Counters(reasons=reasons), **numbers)


def state_of(record: JobRecord, reached: Reached | None) -> JobState:
    """What was reached in this epoch and run decides, then the wanted state, then whether there is anything to do.

    Of a recurring job between two runs the wanted state comes first: it begins no run while it is paused.
    """
    if reached is not None and reached.epoch >= record.epoch and reached.run >= record.run:
        between = recurs(record) and reached.state not in CLOSED
        return record.wanted if between and record.wanted != "running" else reached.state
    if record.wanted != "running":
        return record.wanted
    return "running" if record.seeded or record.seeding else "waiting"


def recurs(record: JobRecord) -> bool:
    """True for a job with a schedule."""
    return record.spec.get("schedule") is not None


def is_over(record: JobRecord, state: JobState) -> bool:
    """True when nothing more happens by itself: after a run of a recurring job another one will."""
    return state in CLOSED if recurs(record) else state in FINAL_STATES


def recounted(reports: Iterable[Progress]) -> Counters:
    """The independent count over all partitions; a partition that never counted adds nothing."""
    sums = dict.fromkeys(COUNTED_FIELDS, 0)
    for report in reports:
        if report.recount is not None:
            for name in COUNTED_FIELDS:
                sums[name] += getattr(report.recount, name)
    return msgspec.structs.replace(Counters(), **sums)


def with_recounts(standing: Standing, counts: Mapping[int, Recount]) -> Standing:
    """The same standing, each partition with the newest count known; what reports nothing must have counted nothing."""
    known = {report.partition: report for report in standing.reports}
    record = standing.record
    none = Progress(job=record.job, partition=0, offset=0, epoch=record.epoch, counters=Counters())
    for partition, count in counts.items():
        report = known.get(partition) or msgspec.structs.replace(none, partition=partition)
        if report.recount is None or report.recount.offset < count.offset:
            known[partition] = msgspec.structs.replace(report, recount=count)
    return replace(standing, reports=tuple(known[partition] for partition in sorted(known)))


def balanced(reports: Iterable[Progress]) -> bool:
    """Both equations hold and both counts agree, in every partition."""
    return all(_equations(report.counters) and counts_agree(report.counters, report.recount) for report in reports)


def _equations(ledger: Counters) -> bool:
    outcomes = sum(getattr(ledger, name) for name in OUTCOME_FIELDS)
    return (
        ledger.accepted == ledger.pending + outcomes
        and ledger.links_found == ledger.accepted + ledger.duplicates + ledger.refused
    )


def audit(standing: Standing) -> dict[str, Any]:
    """The ledger with its proof, in the shape of design §5."""
    ledger = standing.counters
    names = ("accepted", "pending", *OUTCOME_FIELDS, "links_found", "duplicates", "refused", "late")
    answer: dict[str, Any] = {name: getattr(ledger, name) for name in names}
    counted = recounted(standing.reports)
    return answer | {
        "in_flight": standing.in_flight,
        "recount": {name: getattr(counted, name) for name in COUNTED_FIELDS},
        "balanced": balanced(standing.reports),
        "reasons": ledger.reasons,
    }


def summary(standing: Standing) -> dict[str, Any]:
    """The counters of the crawl JSON (design §6), without the times that only a caller knows."""
    ledger = standing.counters
    return {
        "job_id": standing.record.job,
        "state": standing.state,
        "pages": ledger.kept,
        "items": ledger.items,
        "failed": ledger.failed,
        "skipped": ledger.reasons.get("skipped", {}),
        "refused": ledger.reasons.get("refused", {}),
        "links_found": ledger.links_found,
        "duplicates": ledger.duplicates,
    }


def parse_progress(key: str, value: bytes) -> Progress | Reached:
    """A record of the topic `progress`: the key tells which of the two it is."""
    return decode(Progress, value) if ":" in key else decode(Reached, value)


def supersedes(new: Progress | Reached, held: Progress | Reached) -> bool:
    """False for what a former owner says late: a report of an older offset, an end of an older epoch."""
    if isinstance(new, Progress) and isinstance(held, Progress):
        return new.offset >= held.offset
    if isinstance(new, Reached) and isinstance(held, Reached):
        return (new.epoch, new.run) >= (held.epoch, held.run)
    return True


def reports_of(job: str, progress: Callable[[str], Progress | Reached | None], partitions: int) -> tuple[Progress, ...]:
    """The newest report of every partition that has one."""
    found = (progress(f"{job}:{partition}") for partition in range(partitions))
    return tuple(report for report in found if isinstance(report, Progress))
