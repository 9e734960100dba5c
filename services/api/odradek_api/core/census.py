"""All jobs at one moment, so that many lists of them can be made from one look."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from odradek.contracts import JobRecord, JobState


@dataclass(frozen=True)
class Census:
    """Jobs with their states then, newest first."""

    jobs: Sequence[tuple[JobRecord, JobState]]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Jobs by state."""
        return Counter(state for _, state in self.jobs)

    def named(self, part: str) -> "Census":
        """Only jobs with this, in small letters, in their id or name."""
        return Census([job for job, names in zip(self.jobs, self._names, strict=True) if part in names])

    @cached_property
    def _names(self) -> Sequence[str]:
        """Id and name of each in small letters: made for the first search, and there for all the others."""
        return [f"{record.job}\n{record.spec.get('name') or ''}".lower() for record, _ in self.jobs]
