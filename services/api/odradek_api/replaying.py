"""Dead letters: shown, and sent again to the topic they came from."""

import asyncio
from typing import Any

from odradek.clock import now_ms
from odradek.contracts import PAGE_HEADER
from odradek.kafka.records import Send
from odradek.settings import Settings
from odradek.stores import Document, dead_letter_matches, instant
from odradek.topics import TOPICS
from odradek_api.ports import Log, Results

BATCH = 100
PREVIEW_BYTES = 500


class Replay:
    """Sends stored dead letters again, untouched, and notes it on them."""

    def __init__(self, settings: Settings, log: Log, results: Results) -> None:
        self._settings, self._log, self._results = settings, log, results

    async def replay(self, match: Document) -> Document:
        """{replayed, refused: first 100 of [{id, reason}], refused_total} of all that match and were not replayed yet.

        Raises:
            Problem: 503 when MongoDB is away.
            InfrastructureAway: Kafka is away.
        """
        replayed, refused, refused_total = 0, list[Document](), 0
        wanted = {"replayed_at": None} | match
        after: str | None = None
        while letters := await asyncio.to_thread(self._results.letters, _after(wanted, after), BATCH):
            after = letters[-1]["_id"]
            judged = [(letter["_id"], self._again(letter)) for letter in letters]
            sends = [(name, send) for name, send in judged if isinstance(send, Send)]
            for name, reason in judged:
                if isinstance(reason, str):
                    refused_total += 1
                    refused += [{"id": name, "reason": reason}] if len(refused) < BATCH else []
            if sends:
                await self._log.send([send for _, send in sends])
                await asyncio.to_thread(self._results.mark_replayed, [name for name, _ in sends], now_ms())
                replayed += len(sends)
        return {"replayed": replayed, "refused": refused, "refused_total": refused_total}

    def _again(self, letter: Document) -> Send | str:
        """The message as it was, for the partition it was in; or why it cannot be sent."""
        source = letter["source"]
        topic = str(source.get("topic") or "").removeprefix(self._settings.topic_prefix)
        if topic not in TOPICS:
            return f"its source topic {source.get('topic')!r} is none of Odradek's"
        if letter["_id"] != f"{source['topic']}-{source['partition']}-{source['offset']}":
            return "a record of a page, not a message: correct the rule and fetch the page again"
        if letter.get("value") is None and letter.get("size_bytes"):
            return f"its {letter['size_bytes']:,} bytes are only in the topic dead-letters"
        page = letter.get("page")
        headers = () if page is None else ((PAGE_HEADER, bytes(page)),)
        partition = source["partition"] if source["partition"] < self._log.partitions(topic) else None
        value = letter.get("value")
        return Send(topic, source.get("key") or "", None if value is None else bytes(value), headers, partition)


def shown(letter: Document) -> dict[str, Any]:
    """A dead letter for a list: everything but the whole value, of which the beginning is shown as text."""
    value = letter.get("value")
    return {
        "id": letter["_id"],
        "reason": letter["reason"],
        "error": letter.get("error") or "",
        "service": letter.get("service"),
        "job_id": letter.get("job_id"),
        "url": letter.get("url"),
        "at": instant(letter.get("at")),
        "source": letter.get("source"),
        "size_bytes": letter.get("size_bytes", 0),
        "preview": None if value is None else bytes(value)[:PREVIEW_BYTES].decode(errors="replace"),
        "replayed_at": instant(letter.get("replayed_at")),
    }


def _after(match: Document, after: str | None) -> Document:
    if after is None:
        return match
    if "_id" in match:
        return match | {"_id": {**match["_id"], "$gt": after}}
    return match | dead_letter_matches(after=after)
