"""What stays is not looked at again and again; what was to stay and was given up goes all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from odradek.runtime.lifecycle import calm_collector


class Host:
    """Holds a queue that holds it."""

    def __init__(self) -> None:
        self.queue = [self]


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


def test_what_was_made_to_stay_is_looked_at_no_more() -> None:
    calm_collector()
    before = gc.get_freeze_count()
    hosts = [Host() for _ in range(1000)]
    calm_collector()
    assert gc.get_freeze_count() - before > len(hosts)


def test_what_was_to_stay_and_was_given_up_goes_the_next_time() -> None:
    host = Host()
    calm_collector()
    gone = weakref.ref(host)
    del host
    gc.collect()
    assert gone() is not None
    calm_collector()
    assert gone() is None
