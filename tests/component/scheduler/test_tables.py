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


@pytest.mark.parametrize(
    ("have", "written", "persisted"),
    [
        (None, range(3), 2),
        (None, range(1, 3), None),
        (9, range(10, 13), 12),
        (9, range(7, 13), 12),
        (9, range(5, 8), 9),
        (9, range(11, 13), 9),
    ],
    ids=["the first", "behind a stranger's first", "the next", "read already", "long known", "behind a stranger's"],
)
def test_what_somebody_else_wrote_before_ours_remains_to_be_read(
    have: int | None, written: range, persisted: int | None, tables: FrontierTables
) -> None:
    """Ours may have been written while we slept through the loss of the partition."""
    topic = tables.changelogs[0]
    if have is not None:
        tables.complete(topic, 0, have)

    tables.acknowledged({(topic, 0): written, (topic, 1): range(1)})

    assert tables.persisted_offset(topic, 0) == persisted
