"""Crawl events into Elasticsearch: hand-joined bulks of `create` into one data stream; what is there already counts."""

from collections.abc import Sequence

import structlog

from odradek.errors import InfrastructureAway
from odradek.stores import (
    LIFECYCLE_POLICY,
    TEMPLATE,
    SearchEngine,
    SearchRefused,
    bulk_path,
    count_path,
    delete_path,
    event_template,
    lifecycle_policy,
    refresh_path,
    search_path,
)
from odradek_indexer.core.bulk import Refusal, bulks, conflicts, refusals
from odradek_indexer.core.cap import EventCap
from odradek_indexer.core.refusals import Fate, fate_in_search

log = structlog.get_logger()

NO_LIFECYCLE = frozenset({400, 404, 405, 501})
"""What engines answer that have no lifecycle policies."""


class EventIndex:
    """The data stream of crawl events. Blocking; one batch at a time."""

    def __init__(self, engine: SearchEngine, *, retention_days: int, cap: EventCap) -> None:
        self._engine = engine
        self._retention_days = retention_days
        self._cap = cap
        self._prepared = False
        self.there = 0
        """Events that were there already."""

    def store(self, lines: Sequence[bytes]) -> list[Refusal]:
        """Store a batch; returns those that the engine can never take.

        Raises:
            InfrastructureAway: not all of it could be stored now; what could be, is, and is told apart next time.
        """
        try:
            if not self._prepared:
                self.prepare()
            hopeless = self._create_all(lines)
            if self._cap.due(len(lines)):
                self._delete_oldest()
        except InfrastructureAway:
            self._prepared = False  # it may come back empty, and would make an ordinary index
            raise
        return hopeless

    def _create_all(self, lines: Sequence[bytes]) -> list[Refusal]:
        hopeless, before = [], 0
        for part in bulks(lines):
            hopeless += [Refusal(each.place + before, each.fate, each.error) for each in self._create(part)]
            before += len(part)
        return hopeless

    def prepare(self) -> None:
        """Make the index template, and the lifecycle policy where there is none; also after the stream was deleted.

        Raises:
            InfrastructureAway: the engine does not answer, or does not allow it.
        """
        try:
            lifecycle = self._lifecycle()
            self._engine.call("PUT", f"/_index_template/{TEMPLATE}", event_template(lifecycle=lifecycle))
        except SearchRefused as error:
            raise InfrastructureAway(f"Elasticsearch refuses the index template: {error}") from error
        self._prepared = True

    def _lifecycle(self) -> bool:
        path = f"/_ilm/policy/{LIFECYCLE_POLICY}"
        try:
            self._engine.call("GET", path)
        except SearchRefused as error:
            if error.status not in NO_LIFECYCLE:
                raise
        else:
            return True
        try:
            self._engine.call("PUT", path, lifecycle_policy(self._retention_days))
        except SearchRefused as error:
            if error.status not in NO_LIFECYCLE:
                raise
            log.info("no_lifecycle", reason="this search engine deletes no old events", cap=self._cap.most or None)
            return False
        return True

    def _create(self, lines: Sequence[bytes]) -> list[Refusal]:
        try:
            answer = self._engine.call("POST", bulk_path(), b"".join(lines))
        except SearchRefused as error:
            if fate_in_search(error.status) is Fate.hopeless:
                return self._halved(lines, error)
            raise InfrastructureAway(f"Elasticsearch refuses: {error}") from error
        found = refusals(answer)
        passing = [each for each in found if each.fate is Fate.again]
        if passing:
            raise InfrastructureAway(f"Elasticsearch refused {len(passing)} events for now: {passing[0].error}")
        self.there += conflicts(answer)
        return found

    def _halved(self, lines: Sequence[bytes], error: SearchRefused) -> list[Refusal]:
        """What remains of a request that was refused as a whole: too large, or not understood."""
        if len(lines) == 1:
            return [Refusal(0, Fate.hopeless, str(error))]
        middle = len(lines) // 2
        second = self._create(lines[middle:])
        return self._create(lines[:middle]) + [Refusal(each.place + middle, each.fate, each.error) for each in second]

    def _delete_oldest(self) -> None:
        """Delete the oldest events above the cap; those of the same millisecond as the last of them go too."""
        try:
            self._engine.call("POST", refresh_path())
            excess = self._cap.excess(self._engine.call("GET", count_path())["count"])
            if not excess:
                return
            last = {"size": 1, "from": excess - 1, "sort": [{"@timestamp": "asc"}], "_source": ["@timestamp"]}
            hits = self._engine.call("POST", search_path(), last)["hits"]["hits"]
            if hits:
                until = {"query": {"range": {"@timestamp": {"lte": hits[0]["_source"]["@timestamp"]}}}}
                deleted = self._engine.call("POST", delete_path(), until).get("deleted")
                log.info("oldest_events_deleted", deleted=deleted, cap=self._cap.most)
        except (SearchRefused, InfrastructureAway) as error:  # the batch is stored, and the next one comes here again
            log.warning("oldest_events_kept", error=str(error))
