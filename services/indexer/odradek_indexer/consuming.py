"""Records in, results out, one class for each topic; the stores block, so they are called in threads."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec
import structlog

from odradek.contracts import Item, ItemChanged, PageSeen, decode, encode
from odradek.errors import InfrastructureAway
from odradek.kafka.deadletter import dead_record
from odradek.kafka.records import Done, Poison, Record, Send, Stage
from odradek.nesting import MAX_DEPTH, deeper_than, is_flat, may_be_deeper_than
from odradek.stores import dead_letter_document, page_of, plain
from odradek.topics import CHANGES, LOGS
from odradek_indexer import metrics
from odradek_indexer.core.bulk import bulk_lines
from odradek_indexer.core.dead_letters import event_of
from odradek_indexer.core.duplicates import Candidate, announcement, candidates
from odradek_indexer.core.job_rules import JobRules
from odradek_indexer.deadletters import DeadLetterStore
from odradek_indexer.items import ItemStore, Offered, Outcome, Unstorable
from odradek_indexer.knowing import KnownRules
from odradek_indexer.logs import LOOK_EVERY_S, EventIndex
from odradek_indexer.pages import Told

SERVICE = "indexer"
UNDECODABLE = "undecodable"
UNSTORABLE = "unstorable"
PAGE_SEEN = b":@"
"""In the keys of pages that were seen again."""

Result = Done | Poison
log = structlog.get_logger()


class ItemRecords:
    """Topic `items`: into MongoDB, and to the topic `changes` what somebody waits for."""

    def __init__(self, stores: Callable[[str], ItemStore], rules: KnownRules) -> None:
        """`stores`: by the name of the collection."""
        self._stores, self._rules = stores, rules

    async def __call__(self, records: Sequence[Record]) -> list[Result]:
        """Store the items of these records.

        Raises:
            InfrastructureAway: MongoDB is away, or the jobs have not been read yet.
        """
        decoded = [_decoded(record) for record in records]
        items = [each for each in decoded if isinstance(each, Item)]
        seen = [each for each in decoded if isinstance(each, PageSeen)]
        rules = {job: await self._rules.of(job) for job in {item.job for item in items} | {page.job for page in seen}}
        offered = {name: _offered(each, rules[each.item.job]) for name, each in candidates(items).items()}
        with metrics.STORE_S.labels("items").time():
            outcomes = await self._store(offered, rules)
            told = await self._see(seen, rules)
        _count_items(offered, outcomes)
        results: list[Result] = []
        for record, each in zip(records, decoded, strict=True):
            if isinstance(each, Item):
                results.append(_stored(record, each, offered[each.id], outcomes[each.id], rules))
            elif isinstance(each, PageSeen):
                results.append(_told(record, told.get((each.job, each.url, each.at_ms), ())))
            else:
                results.append(each)
        return results

    async def _see(self, seen: list[PageSeen], rules: dict[str, JobRules]) -> Told:
        """Pages that were seen again, after the items of the batch."""
        parts: dict[str, list[PageSeen]] = {}
        for each in seen:
            parts.setdefault(rules[each.job].collection, []).append(each)
        graces_ms = {job: each.gone_grace_ms for job, each in rules.items()}
        told: Told = {}
        for collection, part in parts.items():
            told |= await asyncio.to_thread(self._stores(collection).pages.see, part, graces_ms)
        return told

    async def _store(self, offered: dict[str, Offered], rules: dict[str, JobRules]) -> dict[str, Outcome]:
        parts: dict[str, dict[str, Offered]] = {}
        for name, each in offered.items():
            parts.setdefault(rules[each.candidate.item.job].collection, {})[name] = each
        outcomes: dict[str, Outcome] = {}
        for collection, part in parts.items():
            outcomes |= await asyncio.to_thread(self._stores(collection).store, part)
        return outcomes


class EventRecords:
    """Topic `logs`: into Elasticsearch."""

    def __init__(self, index: EventIndex) -> None:
        self._index = index
        self._one = asyncio.Lock()
        """The index takes one call at a time."""

    async def watch(self, stop: asyncio.Event) -> None:
        """Until `stop` is set, notice an engine that was started again, also while no event comes."""
        while not stop.is_set():
            with suppress(InfrastructureAway):
                async with self._one:
                    await asyncio.to_thread(self._index.send_forgotten_again)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LOOK_EVERY_S)

    async def __call__(self, records: Sequence[Record]) -> list[Result]:
        """Store the events of these records.

        Raises:
            InfrastructureAway: Elasticsearch is away, or refuses some of them for now.
        """
        results: dict[int, Result] = {}
        lines: list[bytes] = []
        places: list[int] = []
        for place, record in enumerate(records):
            try:
                lines.append(bulk_lines(record.value or b""))
                places.append(place)
            except msgspec.DecodeError as error:
                results[place] = Poison(record, UNDECODABLE, str(error))
        async with self._one:
            with metrics.STORE_S.labels("logs").time():
                there = self._index.there
                refused = await asyncio.to_thread(self._index.store, lines) if lines else []
                there = self._index.there - there
        for refusal in refused:
            place = places[refusal.place]
            results[place] = Poison(records[place], UNSTORABLE, refusal.error)
        metrics.EVENTS.labels("dead").inc(len(results))
        metrics.EVENTS.labels("there").inc(there)
        metrics.EVENTS.labels("created").inc(len(records) - len(results) - there)
        return [results.get(place) or Done(record) for place, record in enumerate(records)]


class LetterRecords:
    """Topic `dead-letters`: into MongoDB, and a crawl event for each, to be found with its URL's other events."""

    def __init__(self, store: DeadLetterStore) -> None:
        self._store = store

    async def __call__(self, records: Sequence[Record]) -> list[Result]:
        """Store these dead letters.

        Raises:
            InfrastructureAway: MongoDB is away.
        """
        letters = [dead_letter_document(record) for record in records]
        with metrics.STORE_S.labels("dead-letters").time():
            await asyncio.to_thread(self._store.store, letters)
        results: list[Result] = []
        for record, letter in zip(records, letters, strict=True):
            metrics.DEAD_LETTERS.labels(letter["reason"]).inc()
            event = event_of(letter)
            send = () if event is None else (Send(LOGS, f"{event.odradek.job_id}{letter['_id']}", encode(event)),)
            results.append(Done(record, (Stage(sends=send),) if send else ()))
        return results


def _offered(candidate: Candidate, rules: JobRules) -> Offered:
    item = candidate.item
    page = page_of(item.job, item.url) if rules.announces_new else None
    return Offered(candidate, rules.stored_data(item.type, item.data), page)


def _told(record: Record, changes: Iterable[ItemChanged]) -> Done:
    sends = tuple(Send(CHANGES, change.id, encode(change)) for change in changes)
    return Done(record, (Stage(sends=sends),) if sends else ())


def _decoded(record: Record) -> Item | PageSeen | Poison:
    value = record.value or b""
    try:
        if PAGE_SEEN in (record.key or b""):
            return decode(PageSeen, value)
        item = decode(Item, value)
    except msgspec.DecodeError as error:
        return Poison(record, UNDECODABLE, str(error))
    if is_flat(item.data.values()) and is_flat(item.meta.values()):
        return item
    if may_be_deeper_than(value, MAX_DEPTH) and deeper_than([item.data, item.meta], MAX_DEPTH + 1):
        return Poison(record, UNSTORABLE, f"its data is nested deeper than {MAX_DEPTH} levels")
    return item


def _stored(record: Record, item: Item, offered: Offered, outcome: Outcome, rules: dict[str, JobRules]) -> Result:
    """What follows from storing one item; only the record that won in its batch says it."""
    if offered.candidate.item is not item:
        return Done(record)
    if isinstance(outcome, Unstorable):
        log.warning("item_unstorable", id=item.id, partition=record.partition, offset=record.offset, url=item.url)
        letter = dead_record(
            record, value=record.value, reason=UNSTORABLE, error=outcome.error, service=SERVICE, job=item.job,
            url=item.url,
        )  # fmt: skip
        return Done(record, (Stage(sends=(letter,)),))
    wanted = outcome.change == "changed" or (outcome.change == "new" and rules[item.job].announces_new)
    if not (wanted and outcome.newest):
        return Done(record)
    change = announcement(item, outcome.change, outcome.changed, plain(dict(outcome.was)))
    return Done(record, (Stage(sends=(Send(CHANGES, item.id, encode(change)),)),))


def _count_items(offered: dict[str, Offered], outcomes: dict[str, Outcome]) -> None:
    done = Counter(
        "dead" if isinstance(each, Unstorable) else each.written if each.newest else "late"
        for each in outcomes.values()
    )
    done["superseded"] = sum(each.candidate.superseded for each in offered.values())
    for name, count in done.items():
        metrics.ITEMS.labels(name).inc(count)
