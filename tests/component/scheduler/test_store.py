"""The local tables keep, per key, what the log said last, in whatever order their changelogs are read (rule B)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek_scheduler.core.tables import Write, value_offset
from odradek_scheduler.store import PartitionStore, Record, Stores, TablesClosed, shared_cache


def value(offset: int, text: str = "x") -> bytes:
    return b'[%d,"%s"]' % (offset, text.encode())


def put(key: bytes, offset: int, text: str = "x") -> Record:
    return key, value(offset, text), -1


def died(key: bytes, offset: int) -> Record:
    return key, None, offset


def opened(folder: Path) -> PartitionStore:
    return PartitionStore(folder / "partition-0", shared_cache(1_000_000), value_offset)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PartitionStore]:
    store = opened(tmp_path)
    yield store
    store.close()


def contents(store: PartitionStore) -> dict[bytes, bytes]:
    return dict(store.scan("seen", b""))


def test_what_is_written_is_read_and_scanned_in_key_order_within_its_table(store: PartitionStore) -> None:
    store.write(
        [
            Write("seen", b"job\0b", value(2), 2),
            Write("seen", b"job\0a", value(1), 1),
            Write("seen", b"other\0a", value(3), 3),
            Write("backlog", b"job\0a", value(4), 4),
        ]
    )

    assert store.get("seen", b"job\0b") == value(2)
    assert store.get("hosts", b"job\0b") is None
    assert list(store.scan("seen", b"job\0")) == [(b"job\0a", value(1)), (b"job\0b", value(2))]
    assert list(store.scan("backlog", b"")) == [(b"job\0a", value(4))]


def test_a_prefix_that_ends_in_the_highest_byte_is_scanned(store: PartitionStore) -> None:
    store.write([Write("seen", b"a\xff\xff1", value(1), 1), Write("seen", b"b", value(1), 1)])

    assert list(store.scan("seen", b"a\xff\xff")) == [(b"a\xff\xff1", value(1))]


def test_a_tombstone_removes_and_what_was_written_survives_closing(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write([Write("seen", b"a", value(1), 1), Write("seen", b"b", value(1), 1)])
    store.write([Write("seen", b"a", None, 2)])
    store.close()

    again = opened(tmp_path)
    assert contents(again) == {b"b": value(1)}
    again.close()


def test_an_older_value_of_a_paused_former_owner_does_not_win(store: PartitionStore) -> None:
    store.recover("seen", [put(b"a", 7, "new"), put(b"a", 5, "old")])
    store.recover("seen", [put(b"a", 6, "old")])

    assert contents(store) == {b"a": value(7, "new")}


def test_of_two_values_of_one_offset_the_later_record_wins(store: PartitionStore) -> None:
    store.recover("seen", [put(b"a", 7, "first"), put(b"a", 7, "second")])

    assert contents(store) == {b"a": value(7, "second")}


def test_an_older_tombstone_does_not_remove(store: PartitionStore) -> None:
    store.recover("seen", [put(b"a", 7), died(b"a", 6)])

    assert contents(store) == {b"a": value(7)}


def test_a_value_older_than_its_tombstone_stays_dead_also_after_a_restart(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write([Write("seen", b"a", value(1), 1)])
    store.write([Write("seen", b"a", None, 9)])
    store.close()

    again = opened(tmp_path)
    assert again.recover("seen", [put(b"a", 8)]) == 0
    assert contents(again) == {}
    again.recover("seen", [put(b"a", 10)])
    assert contents(again) == {b"a": value(10)}
    again.close()


def test_recovery_tells_how_many_keys_it_changed(store: PartitionStore) -> None:
    store.write([Write("seen", b"a", value(3), 3)])

    assert store.recover("seen", [put(b"a", 3), put(b"b", 1), put(b"a", 2)]) == 1


def test_the_offset_of_a_changelog_is_remembered_by_table(tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert store.changelog_offset("seen") is None
    store.set_changelog_offset("seen", 41)
    store.close()

    again = opened(tmp_path)
    assert (again.changelog_offset("seen"), again.changelog_offset("ledger")) == (41, None)
    again.close()


def test_a_discarded_partition_begins_with_nothing(tmp_path: Path) -> None:
    stores = Stores(tmp_path, value_offset)
    stores.of(3).write([Write("seen", b"a", value(1), 1)])
    stores.of(3).set_changelog_offset("seen", 5)

    stores.discard(3)

    assert not stores.is_open(3)
    assert (stores.of(3).get("seen", b"a"), stores.of(3).changelog_offset("seen")) == (None, None)
    stores.close_all()


CHANGELOG = st.lists(
    st.tuples(st.sampled_from([b"a", b"b"]), st.integers(0, 30), st.booleans()), unique_by=lambda each: each[:2]
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=CHANGELOG, shuffled=st.randoms(use_true_random=False), cut=st.integers(0, 12))
def test_any_order_and_any_cut_of_a_changelog_give_the_same_tables(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[bytes, int, bool]], shuffled: object, cut: int
) -> None:
    newest: dict[bytes, tuple[int, bool]] = {}
    for key, offset, alive in records:
        newest[key] = max(newest.get(key, (-1, False)), (offset, alive))
    expected = {key: value(offset) for key, (offset, alive) in newest.items() if alive}
    log = [put(key, offset) if alive else died(key, offset) for key, offset, alive in records]
    shuffled.shuffle(log)  # type: ignore[attr-defined]  # hypothesis gives a random.Random

    store = opened(tmp_path_factory.mktemp("store"))
    store.recover("seen", log[:cut])
    store.recover("seen", log[cut:])

    assert contents(store) == expected
    store.close()


def test_tables_that_were_closed_say_so(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write([Write("seen", b"a", value(1), 1), Write("seen", b"b", value(1), 1)])
    rows = store.scan("seen", b"")
    next(rows)
    store.close()

    with pytest.raises(TablesClosed):
        next(rows)
    with pytest.raises(TablesClosed):
        store.get("seen", b"a")
    with pytest.raises(TablesClosed):
        next(store.scan("seen", b""))
