"""Names are looked up once, checked, and kept for a while: successes for their time, failures for a short one."""

import asyncio
import socket

import pytest

from odradek.resolve import FAILED_TTL_S, TTL_S, Guard, NameFailure, PrivateAddress


class Zone:
    """A resolver that counts, and a clock that a test moves on."""

    def __init__(self, **names: str | OSError) -> None:
        self.names = {name.replace("_", "."): found for name, found in names.items()}
        self.asked: list[str] = []
        self.now_s = 1000.0
        self.answers = asyncio.Event()
        self.answers.set()

    async def __call__(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        await self.answers.wait()
        found = self.names[host]
        if isinstance(found, OSError):
            raise found
        return tuple(found.split())


def a_guard(zone: Zone, max_names: int = 10) -> Guard:
    return Guard(zone, max_names=max_names, clock=lambda: zone.now_s)


async def test_a_name_is_looked_up_again_when_its_time_is_over() -> None:
    zone = Zone(books_example="93.184.216.34")
    guard = a_guard(zone)
    for now_s in (1000.0, 1000.0 + TTL_S - 1, 1000.0 + TTL_S):
        zone.now_s = now_s
        assert await guard.addresses("books.example") == ("93.184.216.34",)
    assert zone.asked == ["books.example"] * 2


@pytest.mark.parametrize(
    ("found", "lasting"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), True), (socket.gaierror(socket.EAI_AGAIN, "later"), False),
        (OSError("broken"), False), ("", True),
    ],
)  # fmt: skip
async def test_a_failure_is_kept_for_a_short_time(found: str | OSError, lasting: bool) -> None:  # noqa: FBT001  (a case)
    zone = Zone(books_example=found)
    guard = a_guard(zone)
    for now_s in (1000.0, 1000.0 + FAILED_TTL_S - 1, 1000.0 + FAILED_TTL_S):
        zone.now_s = now_s
        with pytest.raises(NameFailure) as failure:
            await guard.addresses("books.example")
        assert failure.value.lasting is lasting
    assert zone.asked == ["books.example"] * 2
    assert FAILED_TTL_S < TTL_S


async def test_a_refusal_is_kept_too() -> None:
    zone = Zone(inside_example="93.184.216.34 10.0.0.1")
    guard = a_guard(zone)
    for _ in range(2):
        with pytest.raises(PrivateAddress, match=r"inside\.example leads to 10\.0\.0\.1"):
            await guard.addresses("inside.example")
    assert zone.asked == ["inside.example"]


async def test_of_too_many_names_the_oldest_is_forgotten() -> None:
    zone = Zone(**{f"h{number}_example": "93.184.216.34" for number in range(4)})
    guard = a_guard(zone, max_names=3)
    for number in (0, 1, 2, 3, 3, 0):
        await guard.addresses(f"h{number}.example")
    assert zone.asked == [f"h{number}.example" for number in (0, 1, 2, 3, 0)]


async def test_many_who_ask_at_once_share_one_look_up_which_outlives_the_one_that_began_it() -> None:
    zone = Zone(books_example="93.184.216.34")
    zone.answers.clear()
    guard = a_guard(zone)
    tasks = [asyncio.create_task(guard.addresses("books.example")) for _ in range(20)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.sleep(0)
    zone.answers.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert found[1:] == [("93.184.216.34",)] * 19
    assert zone.asked == ["books.example"]


@pytest.mark.parametrize("host", ["93.184.216.34", "2606:2800::1", "[2606:2800::1]"])
async def test_an_address_is_asked_of_nobody(host: str) -> None:
    zone = Zone()
    assert await a_guard(zone).addresses(host) == (host.strip("[]"),)
    assert zone.asked == []
