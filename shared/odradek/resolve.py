"""Names into addresses that may be connected to: resolved once, checked, and kept for a while (rule O).

What is checked is what is connected to: no second look-up happens on the way, so a resolver that changes its answer
(DNS rebinding) gains nothing.
"""

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address

from odradek.addresses import address_refusal

TTL_S = 60.0
FAILED_TTL_S = 10.0
"""Of a name that could not be resolved."""
MAX_NAMES = 50_000
THREADS = 16
_UNKNOWN = frozenset((socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)))

LookUp = Callable[[str], Awaitable[tuple[str, ...]]]
"""The addresses of a host name, IPv4 or IPv6, in the order to try them; raises `socket.gaierror`."""


class NameFailure(Exception):  # noqa: N818  (the failure class `dns`)
    """A host name has no address; `lasting` when the name does not exist."""

    def __init__(self, error: str, *, lasting: bool) -> None:
        super().__init__(error)
        self.lasting = lasting


class PrivateAddress(Exception):  # noqa: N818  (the failure class `private_address`)
    """A host has an address that is not public."""


def nothing_refused(_: str) -> bool:
    """For crawls of private networks: every address may be connected to."""
    return False


class SystemLookUp:
    """The system's resolver, in threads of its own, so that slow names do not hold up fast ones for long."""

    def __init__(self, threads: int = THREADS) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="resolver")

    async def __call__(self, host: str) -> tuple[str, ...]:
        """See `LookUp`."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        )
        return tuple(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(frozen=True, slots=True)
class _Known:
    until_s: float
    addresses: tuple[str, ...] = ()
    failure: NameFailure | PrivateAddress | None = None


class Guard:
    """Says where a host may be connected to."""

    def __init__(
        self,
        look_up: LookUp,
        *,
        refuses: Callable[[str], bool] = address_refusal,
        ttl_s: float = TTL_S,
        max_names: int = MAX_NAMES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up, self._refuses = look_up, refuses
        self._ttl_s, self._max_names, self._clock = ttl_s, max_names, clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._asked: dict[str, asyncio.Task[_Known]] = {}

    async def addresses(self, host: str) -> tuple[str, ...]:
        """The checked addresses of a host name or literal address (IPv6 with or without brackets).

        One private address among several is enough to refuse: an honest public site has none.

        Raises:
            NameFailure: no address can be found.
            PrivateAddress: an address is not public, and private networks are closed.
        """
        known = self._known.get(host)
        if known is None or known.until_s <= self._clock():
            known = await self._ask(host)
        if known.failure is not None:
            raise known.failure.with_traceback(None)
        return known.addresses

    async def _ask(self, host: str) -> _Known:
        """Many who ask for one name at once share one look-up; it goes on when one of them gives up."""
        task = self._asked.get(host)
        if task is None:
            task = self._asked[host] = asyncio.create_task(self._find(host))
            task.add_done_callback(lambda _: self._asked.pop(host, None))
        return await asyncio.shield(task)

    async def _find(self, host: str) -> _Known:
        try:
            addresses = _literal(host) or await self._look_up(host)
            known = self._check(host, addresses)
        except (socket.gaierror, UnicodeError, OSError) as error:
            lasting = isinstance(error, socket.gaierror) and error.errno in _UNKNOWN
            text = f"the name {host} cannot be resolved: {getattr(error, 'strerror', None) or error}"
            known = _Known(self._clock() + FAILED_TTL_S, failure=NameFailure(text, lasting=lasting))
        self._known[host] = known
        self._known.move_to_end(host)
        if len(self._known) > self._max_names:
            self._known.popitem(last=False)
        return known

    def _check(self, host: str, addresses: tuple[str, ...]) -> _Known:
        if not addresses:
            failure = NameFailure(f"the name {host} has no address", lasting=True)
            return _Known(self._clock() + FAILED_TTL_S, failure=failure)
        until_s = self._clock() + self._ttl_s
        refused = next((each for each in addresses if self._refuses(each)), None)
        if refused is not None:
            text = f"{host} leads to {refused}, which is not public"
            return _Known(until_s, failure=PrivateAddress(text))
        return _Known(until_s, addresses)


def _literal(host: str) -> tuple[str, ...]:
    try:
        return (str(ip_address(host.strip("[]"))),)
    except ValueError:
        return ()
