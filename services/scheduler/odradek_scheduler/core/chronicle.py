"""What a job's home partition knows of its runs: a fold of what it was told, for whoever owns it next."""

from typing import TYPE_CHECKING, Final

import msgspec

from odradek.contracts import HostLoad, LoadsReported, RunDue, RunEnded, RunNote

if TYPE_CHECKING:
    from odradek_scheduler.core.touched import Touched

KEPT: Final = 20
"""Runs of a job that are remembered with their figures."""


class Load(msgspec.Struct, array_like=True):
    """Where a run takes longest in one partition."""

    run: int
    offset: int
    hosts: tuple[HostLoad, ...] = ()


class Chronicle(msgspec.Struct, array_like=True):
    """The runs of one job."""

    offset: int = -1
    notes: list[RunNote] = []
    """Oldest first."""
    loads: dict[int, Load] = {}
    """By partition."""

    def note(self, run: int) -> RunNote | None:
        """What is known of a run."""
        return next((each for each in reversed(self.notes) if each.run == run), None)

    @property
    def newest(self) -> RunNote | None:
        """The run that began or ended last."""
        return self.notes[-1] if self.notes else None


def chronicle_key(job: str) -> bytes:
    """Key in `ledger` of a job's runs."""
    return f"R\0{job}".encode()


def run_began(touched: "Touched", fact: RunDue) -> None:
    """A run begins."""
    chronicle, counts = touched.value(Chronicle, chronicle_key(fact.job))
    if counts and chronicle.note(fact.run) is None:
        note = RunNote(run=fact.run, due_ms=fact.due_ms, began_ms=fact.at_ms, deadline_ms=fact.deadline_ms)
        chronicle.notes = [*chronicle.notes, note][-KEPT:]


def run_ended(touched: "Touched", fact: RunEnded) -> None:
    """A run has ended, for the first time or after it was opened again; of the first one nothing was noted before."""
    chronicle, counts = touched.value(Chronicle, chronicle_key(fact.job))
    if not counts:
        return
    since_ms = touched.job(fact.job)[0].created_at_ms
    note = chronicle.note(fact.run) or RunNote(run=fact.run, due_ms=since_ms, began_ms=since_ms)
    ended = msgspec.structs.replace(note, ended_ms=fact.at_ms, state=fact.state, figures=fact.figures)
    rest = [each for each in chronicle.notes if each.run != fact.run]
    chronicle.notes = sorted([*rest, ended], key=lambda each: each.run)[-KEPT:]


def loads_heard(touched: "Touched", fact: LoadsReported) -> None:
    """A partition's word on where its run takes longest."""
    chronicle, counts = touched.value(Chronicle, chronicle_key(fact.job))
    known = chronicle.loads.get(fact.partition)
    if counts and (known is None or (known.run, known.offset) <= (fact.run, fact.offset)):
        chronicle.loads = {**chronicle.loads, fact.partition: Load(fact.run, fact.offset, fact.hosts)}
