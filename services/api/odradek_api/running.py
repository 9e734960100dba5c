"""Beginning the next run of a recurring job at once."""

import msgspec

from odradek.contracts import FINAL_STATES, JobRecord
from odradek_api.core.problems import Problem
from odradek_api.gateway import Gateway
from odradek_api.submissions import open_record


async def ask_run(gateway: Gateway, job: str) -> JobRecord:
    """The run after the one of now is to begin without waiting until it is due; asked twice it is one.

    Raises:
        Problem: 404; 409 for a job that is over, does not recur, is paused, or has a run under way.
    """

    def asked(old: JobRecord) -> JobRecord:
        open_record(old)
        if old.spec.get("schedule") is None:
            raise Problem(409, "Does not recur", f"{job} has no schedule; give it one with PATCH /v1/jobs/{job}.")
        state = gateway.state(old)
        if state == "paused":
            raise Problem(409, "Paused", f"{job} is paused; resume it, and what was due begins.")
        if state not in FINAL_STATES:
            raise Problem(409, "A run is under way", f"Run {old.run} of {job} has not ended; ask again when it has.")
        return msgspec.structs.replace(old, asked_run=old.run + 1)

    return await gateway.records.revise(job, asked)
