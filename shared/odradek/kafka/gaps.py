"""Offsets that retention cut off before a service had read them, as a crawl event (rule M).

What they held is not lost to the ledger: a request that was never answered is sent again after its lease.
"""

from odradek.contracts import EcsEvent, EcsLog, EcsService, LogEvent, OdradekFields, encode, event_id, timestamp
from odradek.kafka.records import Send
from odradek.kafka.window import Gap
from odradek.topics import LOGS

ACTION = "gap"


def gap_event(service: str, topic: str, gap: Gap, now_ms: int) -> Send:
    """The event for topic `logs`; `topic` is the full name of the one with the gap. It belongs to no job."""
    place = f"{topic}-{gap.partition}"
    missed = gap.next_read - gap.first_missing
    event = LogEvent(
        timestamp=timestamp(now_ms),
        event=EcsEvent(
            id=event_id("", 0, f"{service} {place}-{gap.first_missing}", 0, ACTION),
            action=ACTION,
            outcome="failure",
            reason="retention",
        ),
        service=EcsService(name=service),
        odradek=OdradekFields(job_id=""),
        message=f"{missed} records of {place} were deleted before the {service} had read them; it goes on behind them",
        labels={
            "topic": topic,
            "partition": str(gap.partition),
            "first_missing": str(gap.first_missing),
            "next_read": str(gap.next_read),
        },
        log=EcsLog(level="warning"),
    )
    return Send(LOGS, place, encode(event))
