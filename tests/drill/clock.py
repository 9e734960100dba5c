"""Clock jumps, on the pure core: hosts that fail and ask for rest, while the clock goes forwards and back."""

import random
from typing import Final

from tests.unit.scheduler.harness import Crawl, a_job, a_link

from odradek.contracts import FetchRequest

URLS, HOSTS, JUMPS = 120, 6, 8
JUMPS_S: Final = (-86_400, -3_600, -61, -1, 1, 61, 3_600, 86_400)
MOST_STEPS = 20_000
RETRY_MS = 5_000
REST_S = 4 * 3_600
"""Longer than all rests together that hosts ask for in such a crawl."""


def crawl_through_jumps(seed: int) -> dict[str, int]:
    """A crawl to its end; its figures.

    Raises:
        AssertionError: a URL was lost or counted twice, or the frontier slept for longer than the clock was set back.
    """
    rng = random.Random(seed)
    crawl = Crawl()
    crawl.fold(a_job(politeness={"delay": 1.0, "concurrency_per_host": 1}))
    crawl.fold(*(a_link(f"p{number}", host=f"h{number % HOSTS}.example") for number in range(URLS)))
    jumps = [rng.choice(JUMPS_S) for _ in range(JUMPS)]
    answered = steps = slept_ms = back_s = 0
    while crawl.ledger().pending:
        steps += 1
        assert steps < MOST_STEPS, f"{crawl.ledger().pending} URLs are still pending"
        requests = crawl.dispatch()
        for request in requests:
            _answer(crawl, request, rng)
            answered += 1
        if jumps and rng.random() < 0.05:
            jump_s = jumps.pop()
            crawl.now_ms += jump_s * 1000
            back_s += max(0, -jump_s)
        if not requests:
            slept_ms += _sleep(crawl)
    counted, ledger = crawl.core.recount("j"), crawl.ledger()
    assert counted is not None
    assert (counted.accepted, counted.pending, counted.fetched) == (URLS, 0, ledger.fetched) == (URLS, 0, URLS)
    assert slept_ms / 1000 < back_s + REST_S, f"slept {slept_ms / 1000:.0f} s, the clock went back {back_s} s"
    jumped = JUMPS - len(jumps)
    assert jumped, "the clock never jumped"
    return {"urls": URLS, "requests": answered, "jumps": jumped, "slept_s": slept_ms // 1000, "set_back_s": back_s}


def _answer(crawl: Crawl, request: FetchRequest, rng: random.Random) -> None:
    crawl.now_ms += rng.randrange(10, 400)
    fate = rng.random()
    if fate < 0.1:
        crawl.answer(request, 429, retry_after_s=float(rng.choice((1, 30, 10**6))))
        crawl.end(request, outcome="failed", reason="http_429", retry_in_ms=RETRY_MS)
    elif fate < 0.25:
        crawl.answer(request, None, reason="connect")
        crawl.end(request, outcome="failed", reason="connect", retry_in_ms=RETRY_MS)
    else:
        crawl.finish(request)


def _sleep(crawl: Crawl) -> int:
    """Until the frontier wants to be woken, at most for a minute; how long, in milliseconds."""
    wake_ms = crawl.core.wake_at_ms(crawl.now_ms)
    assert wake_ms is not None, "the frontier waits for nothing, with URLs pending"
    wait_ms = min(60_000, max(1, wake_ms - crawl.now_ms))
    crawl.now_ms += wait_ms
    return wait_ms
