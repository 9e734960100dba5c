"""Crawl events into Elasticsearch: hand-joined bulks of `create` into one data stream; what is there already counts."""

from collections.abc import Callable, Sequence
from time import monotonic

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
from odradek_indexer.core.recent import Recent
from odradek_indexer.core.refusals import Fate, fate_in_search

log = structlog.get_logger()

NO_LIFECYCLE = frozenset({400, 404, 405, 501})
"""What engines answer that have no lifecycle policies."""

LOOK_EVERY_S = 0.5
"""How often an engine without lifecycle policies is asked whether it is still the same process."""

ON_DISK_AFTER_S = 60.0
"""Such an engine, the embedded one, writes all it holds to disk every second or two."""


class EventIndex:
    """The data stream of crawl events. Blocking; one batch at a time."""

    def __init__(
        self,
        engine: SearchEngine,
        *,
        retention_days: int,
        cap: EventCap,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._engine = engine
        self._retention_days = retention_days
        self._cap = cap
        self._clock = clock
        self._prepared = False
        self._recent: Recent | None = None
        """For the embedded engine, which writes to disk every second or so; Elasticsearch does before it answers."""
        self._process: object = None
        self._next_look = 0.0
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
            if self._recent is not None:
                self._recent.add(lines, self._clock())
            self.send_forgotten_again()
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
        if lifecycle:
            self._recent = None
        elif self._recent is None:
            self._recent = Recent()
        self._prepared = True

    def send_forgotten_again(self) -> None:
        """Where the engine was started again, it may have forgotten the newest events: they are created again.

        Raises:
            InfrastructureAway: the engine does not answer.
        """
        now = self._clock()
        if not self._recent or now < self._next_look:
            return
        process = self._running()
        if self._process is not None and process != self._process:
            self._create_again(self._recent.lines())
        self._process, self._next_look = process, now + LOOK_EVERY_S
        self._recent.drop_before(now - ON_DISK_AFTER_S)

    def _create_again(self, lines: list[bytes]) -> None:
        self.prepare()
        before = self.there
        self._create_all(lines)
        log.warning("events_sent_again", events=len(lines), forgotten=len(lines) - (self.there - before))
        self.there = before

    def _running(self) -> object:
        """What changes when the engine is started again; None: it does not tell."""
        try:
            nodes = self._engine.call("GET", "/_nodes/_local")["nodes"]
        except SearchRefused:
            return None
        return sorted((name, node.get("process", {}).get("id")) for name, node in nodes.items())

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
        """Where the cap is reached, the oldest events go."""
        try:
            self._engine.call("POST", refresh_path())
            count = self._engine.call("GET", count_path())["count"]
            excess = self._cap.excess(count)
            self._cap.left(count - (self._delete(excess) if excess else 0))
        except (SearchRefused, InfrastructureAway) as error:  # the batch is stored, and the next one comes here again
            log.warning("oldest_events_kept", error=str(error))

    def _delete(self, excess: int) -> int:
        """Delete the oldest of them, and those of the same millisecond as the last; how many that were."""
        last = {"size": 1, "from": excess - 1, "sort": [{"@timestamp": "asc"}], "_source": ["@timestamp"]}
        hits = self._engine.call("POST", search_path(), last)["hits"]["hits"]
        if not hits:
            return 0
        until = {"query": {"range": {"@timestamp": {"lte": hits[0]["_source"]["@timestamp"]}}}}
        deleted = int(self._engine.call("POST", delete_path(), until).get("deleted") or 0)
        log.info("oldest_events_deleted", deleted=deleted, cap=self._cap.most)
        return deleted
