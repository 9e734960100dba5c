"""One gateway of several holds the lease, and another gets it when that one goes."""

import time
from collections.abc import Callable

from odradek.kafka.records import Send
from odradek.testing.broker import MockBroker, put
from odradek.topics import JOBS
from odradek_api.lease import Lease


def until(holds: Callable[[], bool], within_s: float = 60.0) -> bool:
    deadline = time.monotonic() + within_s
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def test_one_holds_it_and_the_next_one_gets_it_when_that_one_goes() -> None:
    with MockBroker() as broker:
        settings = broker.settings()
        put(settings, Send(JOBS, "j", b"{}"))
        leases = [Lease(settings, "webhooks"), Lease(settings, "webhooks")]
        for lease in leases:
            lease.start()
        try:
            assert until(lambda: sum(lease.held for lease in leases) == 1)
            first, second = sorted(leases, key=lambda lease: not lease.held)
            first.stop()
            assert until(lambda: second.held)
            assert not first.held
        finally:
            for lease in leases:
                lease.stop()
