"""Up to which changelog record the local tables hold everything (rule B)."""

from collections.abc import Iterator
from pathlib import Path

import faust
import pytest

from odradek_scheduler.core.tables import value_offset
from odradek_scheduler.store import Stores
from odradek_scheduler.tables import FrontierTables


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[FrontierTables]:
    app = faust.App("test", broker="kafka://127.0.0.1:1", store="memory://", datadir=str(tmp_path))
    stores = Stores(tmp_path, value_offset)
    tables = FrontierTables(app, stores, 4)
    tables.of(0)
    yield tables
    stores.close_all()


def test_what_kafka_has_of_ours_says_nothing_of_what_lies_before_it_until_the_partition_is_known_to_be_ours(
    tables: FrontierTables,
) -> None:
    """Ours may have been written while we slept through the loss of the partition, behind a successor's records."""
    seen, backlog = tables.changelogs[:2]
    tables.complete(seen, 0, 9)
    tables.acknowledged({(seen, 0): 12, (backlog, 0): 0, (seen, 1): 3})

    slept = tables.persisted_offset(seen, 0)
    tables.owned({1, 2}, tables.newest)
    elsewhere = tables.persisted_offset(seen, 0)
    tables.owned({0}, tables.newest)

    assert (slept, elsewhere, tables.persisted_offset(seen, 0), tables.persisted_offset(backlog, 0)) == (9, 9, 12, 0)


def test_what_recovery_has_read_is_not_taken_back(tables: FrontierTables) -> None:
    seen = tables.changelogs[0]
    tables.acknowledged({(seen, 0): 5})
    tables.complete(seen, 0, 9)

    tables.owned({0}, tables.newest)

    assert tables.persisted_offset(seen, 0) == 9
