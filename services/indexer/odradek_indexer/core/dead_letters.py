"""A dead letter told as a crawl event, so that it is found where all other trouble of a URL is found."""

from typing import Any

from odradek.contracts import EcsError, EcsEvent, EcsLog, EcsService, EcsUrl, LogEvent, OdradekFields, event_id
from odradek.stores import instant
from odradek.topics import LOGS

MAX_MESSAGE = 1000


def event_of(letter: dict[str, Any]) -> LogEvent | None:
    """The event of one stored dead letter; None for an event that could not be stored, which would never end."""
    source = letter["source"]["topic"] or ""
    if source == LOGS or source.endswith(f".{LOGS}"):
        return None
    job, reason = letter["job_id"] or "", letter["reason"]
    return LogEvent(
        timestamp=instant(letter["at"]) or "",
        message=f"{source} {letter['_id']}: {reason}",
        event=EcsEvent(
            id=event_id(job, 1, letter["_id"], 0, "dead_letter"),
            action="dead_letter",
            outcome="failure",
            reason=reason,
        ),
        service=EcsService(name=letter["service"] or "unknown"),
        odradek=OdradekFields(job_id=job),
        url=EcsUrl(full=letter["url"]),
        error=EcsError(type=reason, message=letter["error"][:MAX_MESSAGE]),
        log=EcsLog(level="warning"),
    )
