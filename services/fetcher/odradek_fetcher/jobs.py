"""How the jobs whose requests come in want them carried out."""

from collections.abc import Mapping

from odradek.contracts import JobRecord, Wanted
from odradek.contracts.fetching import Kind
from odradek.kafka.job_records import JobRecords
from odradek.settings import Settings
from odradek.specification import JobSpecification
from odradek_fetcher.core.plans import Plan, PlanProblem, plan
from odradek_fetcher.settings import user_agent

MOST_PLANS = 1000
"""Kept at once; the oldest are forgotten and worked out again when they are needed."""
_UNREAD = ("extract", "seeds")
"""Parts that say nothing about fetching, and whose reading takes long or much memory."""


class Jobs(JobRecords):
    """The newest record of each job, and the plan that follows from it."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        super().__init__(settings)
        self._environ = environ
        self._user_agent = user_agent(settings)
        self._bare = plan(JobSpecification(), user_agent=self._user_agent, environ={})
        self._plans: dict[str, tuple[int, Plan | PlanProblem]] = {}

    def plan(self, record: JobRecord, kind: Kind) -> Plan | PlanProblem:
        """The plan for this version of a job; robots.txt is asked for also when the job's own plan has a problem."""
        found = self._plan(record)
        return self._bare if kind == "robots" and isinstance(found, PlanProblem) else found

    def wanted(self, record: JobRecord, now_ms: int) -> Wanted:
        """What is wanted of the job at this instant: a job ends by the clock before anyone has said so."""
        found = self._plan(record)
        if record.wanted != "running" or isinstance(found, PlanProblem):
            return record.wanted
        expires_at_ms = found.spec.expires_at_ms(record.created_at_ms)
        return record.wanted if expires_at_ms is None or now_ms < expires_at_ms else "expired"

    def _plan(self, record: JobRecord) -> Plan | PlanProblem:
        known = self._plans.get(record.job)
        if known is None or known[0] != record.version:
            known = self._plans[record.job] = (record.version, self._work_out(record))
            if len(self._plans) > MOST_PLANS:
                del self._plans[next(iter(self._plans))]
        return known[1]

    def _work_out(self, record: JobRecord) -> Plan | PlanProblem:
        try:
            read = {name: value for name, value in record.spec.items() if name not in _UNREAD}
            spec = JobSpecification.from_wire(read)
            return plan(spec, user_agent=self._user_agent, environ=self._environ)
        except PlanProblem as problem:
            return problem
        except ValueError as error:
            return PlanProblem(f"the specification of the job cannot be read: {' '.join(str(error).split())[:300]}")
