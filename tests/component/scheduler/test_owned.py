"""What a rebalance does to the partitions in our hands."""

from pathlib import Path
from typing import Any

from tests.component.scheduler.on_disk import Tables

from odradek_scheduler.core.partition import Limits
from odradek_scheduler.owned import Ownership


def an_ownership(tables: Any, sent: Any = None) -> Ownership:
    return Ownership(tables, sent, 4, Limits())


def test_a_partition_that_nobody_else_has_written_is_kept(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    ownership = an_ownership(tables)
    (first, second) = ownership.settle({0, 1})

    assert ownership.settle({0, 2})[0].number == 2
    assert (first.kept, second.kept) == (True, False)
    tables.stores.close_all()


def test_a_partition_that_was_taken_away_and_given_back_before_all_was_settled_is_loaded_again(tmp_path: Path) -> None:
    """Two rebalances in a row: its tables were closed by the first, and are others now."""
    tables = Tables(tmp_path)
    ownership = an_ownership(tables)
    (before,) = ownership.settle({0})
    ownership.unsettle()
    tables.stores.close(0)

    (after,) = ownership.settle({0})

    assert (before.kept, after.kept, list(ownership)) == (False, True, [after])
    assert after.core.progress(0) == ()
    tables.stores.close_all()
