"""What every answer is."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """An answer."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Problem(Shape):
    """An error, RFC 9457."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """What is wrong and what to do, in a sentence."""
    instance: str
    """Path of the request."""
    errors: list[dict[str, str]] | None = None
    """Each wrong field: {field, message}."""
    request_id: str | None = None
    """As in the header X-Request-ID; also in the log and on every message that the request caused."""
    retry_after_s: int | None = None
    """Seconds to wait before asking again."""


class Listed(Shape):
    """A page of a list."""

    data: list[dict[str, Any]]
    next_cursor: str | None


class Health(Shape):
    """State of the gateway."""

    status: Literal["ok", "waiting"]
    detail: str | None = None
