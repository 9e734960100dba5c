"""What is taken for a trap: the part `traps` of a specification."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from odradek.specification.parts import Strict

WINDOW = 128
"""Pages of a pattern that the frontier remembers; `quarantine_after` cannot be more."""


class Traps(Strict):
    """Limits beyond which a URL is skipped as a trap, seeds excepted. Each can be null; `traps: false` is null for all.

    The defaults are far from what pages look like that people read.
    """

    max_url_length: int | None = Field(default=1000, ge=1)
    """Characters."""
    max_path_depth: int | None = Field(default=20, ge=1)
    """Segments of the path."""
    max_repeats: int | None = Field(default=3, ge=1)
    """How often one segment, if it has a letter in it, may stand in the path; so often in a row two or more may."""
    max_query_parameters: int | None = Field(default=20, ge=0)
    max_queries_per_path: int | None = Field(default=100_000, ge=1)
    """Pages read of one path with different queries, in one run."""
    years_ahead: int | None = Field(default=3, ge=0)
    """How far into the future a date in the URL may lie."""
    years_back: int | None = Field(default=200, ge=0)
    """How far into the past."""
    quarantine_after: int | None = Field(default=100, ge=2, le=WINDOW)
    """Of the last so many pages of one pattern of URLs at least `min_new_share` must have shown something new."""
    min_new_share: float = Field(default=0.05, gt=0, le=1)


_NONE: dict[str, Any] = {name: None for name in Traps.model_fields if name != "min_new_share"}


def _switched(value: Any) -> Any:
    return _NONE if value is False else {} if value is True else value


TrapRules = Annotated[Traps, BeforeValidator(_switched)]
