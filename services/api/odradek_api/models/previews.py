"""What rules find on one page."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from odradek_api.models.shape import Shape


class PreviewRequest(BaseModel):
    """A page, and the job whose rules to try on it."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    url: str = Field(max_length=2083, examples=["https://books.example/"])
    job: dict[str, Any] = {}
    """A job specification; without `extract` every page gives one record."""


class PreviewedPage(Shape):
    """The page as it was fetched."""

    url: str
    """Where redirects led."""
    status: int | None
    content_type: str | None
    size_bytes: int
    duration_ms: float | None
    kept: bool
    """Fetched for a preview before, at most five minutes ago."""
    problem: str | None
    """Why there is nothing to read."""


class Preview(Shape):
    """What rules find on one page."""

    page: PreviewedPage
    inspection: dict[str, Any] | None
    """As `odradek extract --json` tells it, the first 100 records of each rule; null: there was no page."""
    withheld: list[str]
    """Of the specification: what previews do not use."""
