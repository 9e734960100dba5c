"""Errors as problem documents, RFC 9457: what is wrong, in one sentence, and which fields."""

import math
from typing import Any


class Problem(Exception):  # noqa: N818  (RFC 9457 calls it a problem)
    """Ends a request with this status and document."""

    def __init__(self, status: int, title: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.members = members

    def document(self, instance: str) -> dict[str, Any]:
        """The JSON body; `instance` is the request's path."""
        known = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        return known | {"instance": instance} | self.members


def no_such_job(job: str) -> Problem:
    """404 for a job id nobody knows."""
    return Problem(404, "No such job", f"There is no job {job!r}; GET /v1/jobs lists those that exist.")


def no_such_cursor(cursor: str) -> Problem:
    """400 for a cursor that no page of this list has given."""
    return Problem(400, "No such cursor", f"The cursor {cursor!r} is not from this list; start again without it.")


def finished_for_good(job: str, state: str) -> Problem:
    """409 for a job that cannot be reopened."""
    return Problem(409, "Job is over", f"Job {job!r} is {state}; submit a new job instead.")


def wrong_fields(fields: list[dict[str, str]]) -> Problem:
    """422 that names every wrong field."""
    first = fields[0]
    return Problem(422, "Not a valid job", f"{first['field']}: {first['message']}", errors=fields)


def key_used_twice(key: str, job: str) -> Problem:
    """422 for an idempotency key that came with other seeds before."""
    return Problem(
        422, "Key used twice", f"The Idempotency-Key {key!r} made job {job!r} of other seeds; choose another key."
    )


def list_changed(key: str) -> Problem:
    """422 for an idempotency key that came with another list of seeds before."""
    return Problem(
        422,
        "Key used twice",
        f"The Idempotency-Key {key!r} came with another list of seeds before; choose another key.",
    )


def silent(what: str) -> Problem:
    """503 when nobody who could know answers."""
    return Problem(503, "No answer", f"No scheduler answered within 2 s {what}; is one running? odradek doctor tells.")


def body_too_large(most: int) -> Problem:
    """413 for a body above a limit of the settings."""
    return Problem(413, "Too large", f"A body may have {most:,} bytes here; send it in several requests.")


def too_slow(idle_s: float) -> Problem:
    """408 for a body that does not go on."""
    return Problem(408, "Too slow", f"Nothing of the body came for {idle_s:g} s; send it again.")


def job_too_large(size: int, most: int) -> Problem:
    """413 for a job whose record is larger than a message."""
    detail = f"The job has {size:,} bytes, at most {most:,} fit; submit it without its seeds and stream them to /seeds."
    return Problem(413, "Too large", detail)


def too_often(name: str, per_s: float, wait_s: float) -> Problem:
    """429 for a key that asks too often."""
    detail = f"The key {name} may make {per_s:g} requests a second; wait {wait_s:.1f} s, or see ODRADEK_API_RATE."
    return Problem(429, "Too many requests", detail, retry_after_s=math.ceil(wait_s))
