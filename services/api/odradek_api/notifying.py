"""Tells webhooks of jobs that changed: noted in Kafka, then delivered at least once, by one gateway of several."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from threading import Lock

import structlog

from odradek.clock import now_ms
from odradek.contracts import JobRecord, JobState, WebhookAttempt, WebhookDelivery, encode
from odradek.errors import InfrastructureAway
from odradek.kafka.records import Send
from odradek.topics import WEBHOOKS
from odradek_api.core.standing import Standing, summary
from odradek_api.core.webhooks import Told, attempted, deliveries, is_news
from odradek_api.ports import Log

KEPT = 50
"""Deliveries of one job whose log is kept."""
AT_ONCE = 16
"""Receivers spoken to at a time."""
log = structlog.get_logger()

Post = Callable[[WebhookDelivery], Awaitable[WebhookAttempt]]
Change = tuple[str, JobRecord | None, JobState | None, int]
"""Job, its record (None: it is gone), its state, and the epoch in which that was reached."""


class Deliveries:
    """The topic `webhooks` by job; fed by a view's thread."""

    def __init__(self) -> None:
        self._by_job: dict[str, dict[str, WebhookDelivery]] = {}
        self._lock = Lock()

    def heard(self, key: str, delivery: WebhookDelivery | None) -> None:
        """The newest word on a delivery."""
        job = key.rpartition(":")[0]
        with self._lock:
            if delivery is not None:
                self._by_job.setdefault(job, {})[key] = delivery
                return
            self._by_job.get(job, {}).pop(key, None)
            if not self._by_job.get(job, True):
                del self._by_job[job]

    def of(self, job: str) -> list[WebhookDelivery]:
        """Of a job, newest first."""
        with self._lock:
            found = list(self._by_job.get(job, {}).values())
        return sorted(found, key=lambda each: (-each.created_at_ms, each.id))

    def all(self) -> list[WebhookDelivery]:
        """All of them, oldest first."""
        with self._lock:
            found = [each for by_id in self._by_job.values() for each in by_id.values()]
        return sorted(found, key=lambda each: each.created_at_ms)


class Notifier:
    """What the gateway that holds the lease does."""

    def __init__(self, kafka: Log, known: Deliveries, standing: Callable[[str], Standing], post: Post) -> None:
        self._log, self._view, self._standing, self._post = kafka, known, standing, post
        self._changes: deque[Change] = deque()
        self._known: dict[str, dict[str, WebhookDelivery]] = {}
        self._told: dict[str, Told] = {}
        self._pending: dict[str, WebhookDelivery] = {}
        self._busy: dict[str, asyncio.Task[None]] = {}
        """By URL: one attempt at a time."""
        self._leading = False

    def noticed(self, job: str, record: JobRecord | None, state: JobState | None, epoch: int) -> None:
        """A job may have changed; called from threads of views."""
        if self._leading and (record is None or record.spec.get("webhooks")):
            self._changes.append((job, record, state, epoch))

    def lead(self, jobs: Iterable[Change]) -> None:
        """From now on this gateway delivers: what was left by another, and what has changed since."""
        if self._leading:
            return
        self._known, self._told, self._pending = {}, {}, {}
        for delivery in self._view.all():
            self._keep(delivery)
            self._told[delivery.job] = Told(delivery.state, delivery.run, delivery.epoch)
        self._leading = True
        for change in jobs:
            self.noticed(*change)

    async def follow(self) -> None:
        """Another gateway delivers from now on."""
        self._leading = False
        self._changes.clear()
        for task in self._busy.values():
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)
        self._busy.clear()

    async def step(self) -> None:
        """Note what has changed, and begin the attempts that are due.

        Raises:
            InfrastructureAway: Kafka does not take it; nothing is forgotten.
        """
        while self._changes:
            await self._note(self._changes[0])
            self._changes.popleft()
        at_ms, due = now_ms(), dict[str, list[WebhookDelivery]]()
        for delivery in sorted(self._pending.values(), key=lambda each: each.created_at_ms):
            if (delivery.next_at_ms or 0) <= at_ms and delivery.url not in self._busy:
                due.setdefault(delivery.url, []).append(delivery)
        for url, mine in due.items():
            if len(self._busy) < AT_ONCE:
                self._busy[url] = asyncio.create_task(self._attempt_all(url, mine))

    async def idle(self) -> None:
        """Wait until no attempt is under way."""
        while self._busy:
            await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _note(self, change: Change) -> None:
        job, record, state, epoch = change
        if record is None or state is None:
            await self._forget(self._known.get(job, {}))
            self._told.pop(job, None)
            return
        told, now = self._told.get(job), Told(state, record.run, epoch)
        if not is_news(told, now):
            return
        numbers = summary(self._standing(job))
        found = deliveries(record, now, None if told is None else told.state, numbers, now_ms())
        await self._write([each for each in found if each.id not in self._known.get(job, {})])
        self._told[job] = now

    async def _attempt_all(self, url: str, due: list[WebhookDelivery]) -> None:
        """In their order, since receivers like it so."""
        try:
            for delivery in due:
                await self._attempt(delivery)
        except InfrastructureAway as error:
            log.warning("webhook_not_noted", error=str(error))
        finally:
            self._busy.pop(url, None)

    async def _attempt(self, delivery: WebhookDelivery) -> None:
        attempt = await self._post(delivery)
        changed = attempted(delivery, attempt)
        log.info(
            "webhook_attempted", job=delivery.job, delivery=delivery.id, attempt=len(changed.attempts),
            status=attempt.status, error=attempt.error, outcome=changed.status,
        )  # fmt: skip
        if delivery.id in self._pending:
            await self._write([changed])

    async def _write(self, changed: list[WebhookDelivery]) -> None:
        await self._log.send([Send(WEBHOOKS, each.id, encode(each)) for each in changed])
        for each in changed:
            self._keep(each)
            mine = self._known[each.job]
            over = [old for old in mine.values() if old.status != "pending"][: max(0, len(mine) - KEPT)]
            await self._forget({old.id: old for old in over})

    def _keep(self, delivery: WebhookDelivery) -> None:
        self._known.setdefault(delivery.job, {})[delivery.id] = delivery
        if delivery.status == "pending":
            self._pending[delivery.id] = delivery
        else:
            self._pending.pop(delivery.id, None)

    async def _forget(self, gone: dict[str, WebhookDelivery]) -> None:
        await self._log.send([Send(WEBHOOKS, name, None) for name in gone])
        for name, delivery in list(gone.items()):
            self._pending.pop(name, None)
            self._known[delivery.job].pop(name, None)
