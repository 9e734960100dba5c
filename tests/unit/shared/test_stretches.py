"""A job's items a stretch of ids at a time."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from odradek.stores import ItemFilter
from odradek.stores.stretches import WANTED, Stretches

JOB = "job-1"
ids = st.sets(st.text("0123456789abcdef", min_size=32, max_size=32) | st.text("09afz", max_size=3), max_size=60)


def inside(match: dict[str, Any], name: str) -> bool:
    bounds = match["_id"]
    above = name >= bounds["$gte"] if "$gte" in bounds else name > bounds["$gt"]
    return above and name < bounds["$lt"]


@given(
    ids, st.none() | st.integers(0, 59), st.lists(st.sampled_from([0, 1, WANTED, 50 * WANTED]), min_size=1, max_size=9)
)
@example({"0", "09", "1f" * 16, "9", "9a", "z"}, 3, [0])
def test_every_id_after_a_given_one_is_in_one_stretch_and_in_order(
    hashes: set[str], number: int | None, held: list[int]
) -> None:
    there = sorted(f"{JOB}:{each}" for each in hashes)
    after = None if number is None or number >= len(there) else there[number]
    found = []
    for place, match in enumerate(way := Stretches(JOB, after=after)):
        found += [name for name in there if inside(match, name)]
        way.held = held[place] if place < len(held) else 0

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


class Clock:
    """It stands where it is put."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def widths(took_s: list[float]) -> list[int]:
    """Of stretches of a filter, in hashes, when each takes so long."""
    clock, found = Clock(), []
    for match, took in zip(Stretches(JOB, ItemFilter(type="book"), clock=clock), took_s, strict=False):
        low, high = (int(str(match["_id"][name]).partition(":")[2] or "0", 16) for name in ("$gte", "$lt"))
        found.append(high - low)
        clock.now += took
    return found


def test_with_a_filter_the_time_of_a_stretch_says_how_wide_the_next_one_is() -> None:
    first = 2**20
    assert widths([0.01, 0.01, 0.1, 2.0, 2.0, 0.1]) == [first, 2 * first, 4 * first, 4 * first, 2 * first, first]
