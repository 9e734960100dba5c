"""How Faust meets Kafka here: aiokafka reads, librdkafka writes."""

import ssl
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic
from typing import Any, Final

import faust
import structlog
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import IllegalStateError
from aiokafka.structs import TopicPartition
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from yarl import URL

from odradek.authorities import trusting
from odradek.errors import InfrastructureAway
from odradek.settings import Settings
from odradek_scheduler.core.holes import Holes

log = structlog.get_logger()

SHORT_WAIT_MS: Final = 20
LONG_WAIT_MS: Final = 500


class PromptFetcher(Fetcher):  # type: ignore[misc]  # aiokafka ships no types
    """A fetch waits long at the broker only when it names every partition.

    It leaves out partitions of which something is buffered, and no second fetch leaves before it is answered. With
    Faust's 1.5 s, partitions full of records stood still for so long because empty ones had been asked about.
    """

    @property
    def _fetch_max_wait_ms(self) -> int:
        return SHORT_WAIT_MS if self._records else LONG_WAIT_MS

    @_fetch_max_wait_ms.setter
    def _fetch_max_wait_ms(self, _given: int) -> None:
        """What was configured does not count."""


class LeavingCoordinator(GroupCoordinator):  # type: ignore[misc]  # aiokafka ships no types
    """Leaves the group when it is closed: a member that keeps its name would be waited for until its session is over.

    Until then it keeps its name. Without it, a rebalance that begins while the process stops would be joined by a
    member that nobody replaces, and all others would wait for what it says, as long as a rebalance may take.
    """

    async def _maybe_leave_group(self) -> None:
        if self._closing.done():
            self._group_instance_id = None
        await super()._maybe_leave_group()


class PromptThread(driver.AIOKafkaConsumerThread):
    """Faust's consumer thread, with that fetcher and that coordinator."""

    async def on_start(self) -> None:
        """Start aiokafka's consumer; it has no assignment yet, so nothing happens before the exchange."""
        await super().on_start()
        kafka = self._ensure_consumer()
        kafka._fetcher.__class__ = PromptFetcher  # noqa: SLF001  (neither library has a setting)
        kafka._coordinator.__class__ = LeavingCoordinator  # noqa: SLF001  (as above)


class ChangelogsPaused(driver.ConsumerRebalanceListener):
    """Pauses changelogs as soon as they are assigned: they are read in bulk by another consumer (`recovery.py`).

    Faust leaves them assigned and only drops what it did not ask for. Until it has sought to their ends, aiokafka would
    read them from the beginning, 4 MiB of each for nothing; and later hold back every fetch for up to 0.1 s each time a
    changelog brings something that nobody takes (aiokafka/consumer/fetcher.py, `prefetch_backoff`).
    """

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Before anything is fetched."""
        app: Any = self._thread.app
        changelogs = set(app.frontier_tables.changelogs)
        self._thread._ensure_consumer().pause(*(tp for tp in assigned if tp.topic in changelogs))  # noqa: SLF001  (Faust has no door to it)
        await super().on_partitions_assigned(assigned)


class ChangelogsAtRest(driver.Consumer):
    """Fetches no changelog, hands out nothing while it seeks, and ends the process when a commit waits in vain.

    Faust reads on while it seeks back to the last commits after a rebalance (faust/transport/consumer.py). A record
    that is on its way then is taken for the end of a gap, and those before it are dropped when they come again.
    """

    RebalanceListener = ChangelogsPaused

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._holes = Holes()
        self._seeks = 0

    async def perform_seek(self) -> None:
        """Seek back to the last commits; who calls it lets the records flow again."""
        self.stop_flow()
        self._seeks += 1
        await self._seek_back()

    async def _commit(self, offsets: Any) -> bool:
        """Kafka takes a commit from the owner only, so what it acknowledged before lies behind no successor's."""
        app: Any = self.app
        tables, generation = app.frontier_tables, app.consumer_generation_id
        newest = tables.newest
        done = bool(await super()._commit(offsets))
        if done and generation == app.consumer_generation_id:
            tables.owned({tp.partition for tp in offsets.keys() & self.assignment()}, newest)
        return done

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109  (Faust's signature)
        """What was on its way during a seek is not handed out: it comes again after another one."""
        seeks = self._seeks
        records = await super()._getmany(active_partitions, timeout)
        while seeks != self._seeks:
            log.info("read_during_a_seek", records=sum(len(each) for each in records.values()))
            seeks, records = self._seeks, {}
            with suppress(AssertionError, IllegalStateError):  # assigned anew meanwhile, and to be sought again
                await self._seek_back()
        return records

    async def _seek_back(self) -> None:
        """Go on at the last commits; where there is none, at the beginning, which Faust and aiokafka leave out."""
        await super().perform_seek()
        app: Any = self.app
        changelogs = app.frontier_tables.changelogs
        fresh = [tp for tp in self.assignment() if tp.topic not in changelogs and not self._committed_offset[tp]]
        await self.seek_wait(dict.fromkeys(fresh, 0))

    async def _commit_tps(self, tps: Iterable[TP], start_new_transaction: bool) -> bool:  # noqa: FBT001  (Faust's own)
        done = bool(await super()._commit_tps(tps, start_new_transaction))
        if self.flow_active:
            for tp, finished in list(self._acked.items()):
                offset = self._holes.look(tp, self._committed_offset[tp], finished, monotonic())
                if offset is not None and not await self._deleted(tp, offset):
                    log.error("commit_stands_still", topic=tp.topic, partition=tp.partition, offset=offset)
                    await self.crash(
                        InfrastructureAway(f"offset {offset} of partition {tp.partition} is never finished")
                    )
        return done

    async def _deleted(self, tp: TP, offset: int) -> bool:
        """Retention has deleted what was to be read next: go on where the log begins (rule M)."""
        begins = (await self.earliest_offsets(tp))[tp]
        if begins <= offset:
            return False
        log.warning("next_record_deleted", topic=tp.topic, partition=tp.partition, offset=offset, begins=begins)
        self._committed_offset[tp] = begins
        return True

    def _new_offset(self, tp: TP) -> int | None:
        """Nothing is committed behind a hole; Faust steps over one of a single record (faust/transport/consumer.py)."""
        finished, committed = self._acked[tp], self._committed_offset[tp]
        if finished and committed is not None and min(finished) > committed and not self._gap[tp].overlaps(committed):
            return None
        return super()._new_offset(tp)

    def _new_consumer_thread(self) -> Any:
        return PromptThread(self, loop=self.loop, beacon=self.beacon)

    def on_buffer_full(self, tp: TP) -> None:
        """Keep on asking for the partition: the agent's full queue holds up the reader itself.

        Faust would ask for the others only, and for a second if there are none, whatever becomes free meanwhile.
        """

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Faust would take a changelog at rest, or a quiet crawl, for an error."""


class Transport(driver.Transport):
    """Aiokafka's transport with that consumer."""

    Consumer = ChangelogsAtRest


def credentials(settings: Settings) -> Any:
    """TLS and SASL as aiokafka wants them; None: plain text."""
    protocol = settings.kafka_security_protocol
    context = _tls(settings) if protocol in ("SSL", "SASL_SSL") else None
    if protocol.startswith("SASL"):
        password = settings.kafka_security_password
        return faust.SASLCredentials(
            mechanism=settings.kafka_security_mechanism or "PLAIN",
            username=settings.kafka_security_username,
            password=None if password is None else password.get_secret_value(),
            ssl_context=context,
        )
    return None if context is None else faust.SSLCredentials(context)


def broker_urls(settings: Settings) -> list[URL]:
    """The brokers as Faust spells them."""
    return [URL(f"kafka://{broker.strip()}") for broker in settings.kafka_bootstrap.split(",")]


def _tls(settings: Settings) -> ssl.SSLContext:
    context = trusting(settings.kafka_security_ca)
    if settings.kafka_security_certificate is not None:
        context.load_cert_chain(str(settings.kafka_security_certificate), _path(settings.kafka_security_key))
    return context


def _path(path: Any) -> str | None:
    return None if path is None else str(path)
