"""Which URLs have the permits they need, and whether one that lacks them can ask (rule F, `max_pages_per_host`)."""

from collections.abc import Callable
from itertools import islice

from odradek_scheduler.core.cache import Cache
from odradek_scheduler.core.keys import split_run_id
from odradek_scheduler.core.queues import Queue
from odradek_scheduler.core.sitemaps import is_sitemap_run
from odradek_scheduler.core.terms import Terms


class Allowance:
    """What the ledger says of permits, less what was asked for and is not decided yet."""

    def __init__(self, cache: Cache, terms: Callable[[str], Terms]) -> None:
        self._cache = cache
        self._terms = terms
        self.proposed: dict[str, int] = {}
        """Permits asked for and not yet decided, by run."""
        self._starved: dict[str, dict[Queue, None]] = {}
        """Queues that have found no permit to ask for, by run."""

    def left(self, run: str) -> int:
        """Permits that can still be asked for."""
        return self._cache.ledger(run).free_permits - self.proposed.get(run, 0)

    def count_proposed(self, queue: Queue, count: int) -> None:
        """So many more are asked for; negative: decided."""
        queue.proposed += count
        self.proposed[queue.run] = self.proposed.get(queue.run, 0) + count

    def holds(self, queue: Queue, fp: str) -> bool:
        """True if the URL has a permit of the job or a share of its host."""
        return fp in self._cache.ledger(queue.run).holders or fp in self._cache.share(queue.run, queue.host.key).holders

    def may_send(self, queue: Queue, fp: str) -> bool:
        """True if the URL has every permit it needs; sitemaps need none."""
        if is_sitemap_run(queue.run):
            return True
        terms = self._terms(queue.job)
        return (terms.max_pages is None or fp in self._cache.ledger(queue.run).holders) and (
            terms.max_pages_per_host is None or fp in self._cache.share(queue.run, queue.host.key).holders
        )

    def has_permit_for(self, queue: Queue, fp: str) -> bool:
        """True if a permit of the job can be had for the URL."""
        if self._terms(queue.job).max_pages is None or fp in self._cache.ledger(queue.run).holders:
            return True
        return self.left(queue.run) > 0

    def has_share_for(self, queue: Queue, fp: str) -> bool:
        """True if a share of the host can be had for the URL."""
        limit = self._terms(queue.job).max_pages_per_host
        share = self._cache.share(queue.run, queue.host.key)
        return limit is None or fp in share.holders or share.kept + len(share.holders) + queue.proposed < limit

    def starve(self, queue: Queue) -> None:
        """No permit is left to ask for; until there is one, the queue asks for none."""
        queue.starved = True
        self._starved.setdefault(queue.run, {})[queue] = None

    def forget(self, run: str) -> None:
        """The run is closed: none of its queues waits for a permit."""
        self._starved.pop(run, None)

    @property
    def starved(self) -> list[str]:
        """Runs with queues that have found no permit."""
        return list(self._starved)

    def fed(self, run: str) -> list[Queue]:
        """Queues that may ask again, as many as there are permits: those that have waited longest."""
        starved = self._starved.get(run)
        if starved is None:
            return []
        limited = self._terms(split_run_id(run)[0]).max_pages is not None
        queues = list(islice(starved, max(0, self.left(run)) if limited else None))
        for queue in queues:
            del starved[queue]
            queue.starved = False
        if not starved:
            del self._starved[run]
        return queues
