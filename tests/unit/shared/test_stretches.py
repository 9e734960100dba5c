"""A job's items a stretch of ids at a time."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from odradek.stores import ItemFilter
from odradek.stores.stretches import WANTED, Stretches

JOB = "job-1"
ids = st.sets(st.text("0123456789abcdef", min_size=32, max_size=32) | st.text("09afz", max_size=3), max_size=60)


def inside(match: dict[str, Any], name: str) -> bool:
    bounds = match["_id"]
    above = name >= bounds["$gte"] if "$gte" in bounds else name > bounds["$gt"]
    return above and name < bounds["$lt"]


@given(ids, st.data(), st.none() | st.integers(0, 59))
def test_every_id_after_a_given_one_is_in_one_stretch_and_in_order(
    hashes: set[str], data: st.DataObject, number: int | None
) -> None:
    there = sorted(f"{JOB}:{each}" for each in hashes)
    after = None if number is None or number >= len(there) else there[number]
    found = []
    for match in (way := Stretches(JOB, after=after)):
        found += [name for name in there if inside(match, name)]
        way.held = data.draw(st.sampled_from([0, 1, WANTED, 50 * WANTED]), label="held") if len(found) % 7 == 0 else 0

    assert found == [name for name in there if after is None or name > after]


def asked(items: int, wanted: ItemFilter) -> tuple[int, int]:
    """How many stretches of so many items, evenly spread, and what the fullest held."""
    most = count = 0
    for match in (way := Stretches(JOB, wanted)):
        low, high = (str(match["_id"][name]).partition(":")[2][:8] for name in ("$gte", "$lt"))
        way.held = round((int(high or "f" * 8, 16) - int(low or "0", 16)) / 2**32 * items)
        count, most = count + 1, max(most, way.held)
    return count, most


def test_a_small_job_is_read_in_a_few_steps_and_a_large_one_in_steps_of_a_thousand() -> None:
    assert asked(10, ItemFilter())[0] < 10
    count, most = asked(1_000_000, ItemFilter())
    assert (990 < count < 1020, most < 1.01 * WANTED) == (True, True)
    assert asked(100_000_000, ItemFilter())[1] < 25 * WANTED


def test_what_a_filter_hides_makes_no_stretch_wider() -> None:
    assert asked(0, ItemFilter(type="book")) == (4096, 0)
