"""What partitions report of a job, as the view of `progress` has it."""

from odradek.contracts import JobRecord, Progress, Reached
from odradek.topics import FRONTIER
from odradek_api.core.runs import with_run
from odradek_api.core.standing import Standing, reports_of
from odradek_api.ports import Log, Newest


class Hearing:
    """The newest report of every partition."""

    def __init__(self, log: Log, progress: Newest[Progress | Reached]) -> None:
        self._log, self._progress = log, progress

    def reports(self, job: str) -> tuple[Progress, ...]:
        """Of all partitions that have one."""
        return reports_of(job, self._progress.get, self._log.partitions(FRONTIER))

    def in_its_run(self, record: JobRecord) -> JobRecord:
        """A record with the run that is under way, which partitions tell of: the scheduler begins runs."""
        return record if record.spec.get("schedule") is None else with_run(record, self.reports(record.job))

    def standing(self, record: JobRecord) -> Standing:
        """Where a job stands; of a recurring one, partitions that have not begun its run yet say nothing of it."""
        reached, reports = self._progress.get(record.job), self.reports(record.job)
        if record.spec.get("schedule") is not None:
            reports = tuple(report for report in reports if report.run == record.run)
        return Standing(record, reports, reached if isinstance(reached, Reached) else None)
