"""The id of a request: in its answer, in the log, and on every message that it caused."""

import re
import uuid
from collections.abc import Iterable, Sequence
from contextvars import ContextVar

from msgspec.structs import replace

from odradek.kafka.packing import pack
from odradek.kafka.records import Send, ToFrontier
from odradek.topics import FRONTIER
from odradek_api.ports import Log

HEADER = "request-id"
"""Of a message in Kafka."""
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that is worked on here; None: the gateway does something on its own."""

_GOOD = re.compile(r"[\w.:/+=-]{1,128}\Z", re.ASCII)


def request_id_of(asked: str | None) -> str:
    """The id that came with a request if it is short and plain, else a new one."""
    return asked if asked and _GOOD.match(asked) else uuid.uuid4().hex


class TracedLog:
    """Kafka for writing; every message carries the id of the request that caused it."""

    def __init__(self, inner: Log) -> None:
        self._inner = inner

    def partitions(self, topic: str) -> int:
        """See `Log`."""
        return self._inner.partitions(topic)

    async def send(self, sends: Iterable[Send] = (), facts: Sequence[ToFrontier] = ()) -> None:
        """See `Log`."""
        request_id = REQUEST_ID.get()
        if request_id is None:
            await self._inner.send(sends, facts)
            return
        header = (HEADER, request_id.encode())
        packed = pack(facts, self._inner.partitions(FRONTIER)) if facts else ()
        await self._inner.send([replace(each, headers=(*each.headers, header)) for each in (*sends, *packed)])
