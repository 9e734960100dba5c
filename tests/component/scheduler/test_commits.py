"""What Faust's consumer commits, by what is finished."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import faust
import pytest
from faust.types import TP

from odradek_scheduler.transport import ChangelogsAtRest, Transport

PLACE = TP("frontier", 0)
CALLBACKS = ("callback", "on_partitions_revoked", "on_partitions_assigned")


@pytest.fixture
async def consumer(tmp_path: Path) -> AsyncIterator[ChangelogsAtRest]:
    app = faust.App("test", broker="kafka://127.0.0.1:1", store="memory://", datadir=str(tmp_path))
    callbacks: dict[str, Any] = dict.fromkeys(CALLBACKS, lambda _: None)
    consumer = ChangelogsAtRest(Transport([], app), **callbacks)
    yield consumer
    consumer._thread.thread_loop.close()


@pytest.mark.parametrize(
    ("committed", "finished", "gap", "next_committed"),
    [
        (None, [4, 5, 7], None, 6),
        (10, [10, 11, 12], None, 13),
        (10, [11, 12], None, None),
        (10, [12], None, None),
        (10, [11, 12], (10, 11), 13),
        (10, [10, 12], None, 11),
        (10, [], None, None),
    ],
)
async def test_nothing_is_committed_behind_a_record_that_is_not_finished(
    committed: int | None,
    finished: list[int],
    gap: tuple[int, int] | None,
    next_committed: int | None,
    consumer: ChangelogsAtRest,
) -> None:
    consumer._committed_offset[PLACE] = committed
    consumer._acked[PLACE].extend(finished)
    consumer._acked_index[PLACE].update(finished)
    if gap is not None:
        consumer._gap[PLACE].addi(*gap)
    assert consumer._new_offset(PLACE) == next_committed
