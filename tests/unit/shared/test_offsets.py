from hypothesis import given
from hypothesis import strategies as st

from odradek.kafka.offsets import OffsetTracker


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Offsets as they came in, rising with gaps, and a prefix of some order in which they finished."""
    offsets = sorted(draw(st.sets(st.integers(0, 60), min_size=1, max_size=20)))
    order = draw(st.permutations(offsets))
    return offsets, list(order[: draw(st.integers(0, len(order)))])


@given(histories())
def test_the_mark_is_the_first_offset_not_finished(history: tuple[list[int], list[int]]) -> None:
    offsets, finished = history
    tracker = OffsetTracker()
    for offset in offsets:
        tracker.start(offset)
    for offset in finished:
        tracker.finish(offset)
    still_open = [offset for offset in offsets if offset not in finished]
    assert tracker.committable() == (min(still_open) if still_open else offsets[-1] + 1)
    assert len(tracker) == len(still_open)


@given(st.lists(st.sampled_from(["start", "finish", "commit"]), max_size=60), st.randoms())
def test_no_commit_ever_covers_an_open_record_and_none_goes_back(steps: list[str], choose: object) -> None:
    tracker, open_, at, last = OffsetTracker(), [], 0, 0
    for step in steps:
        if step == "start":
            tracker.start(at)
            open_.append(at)
            at += 1
        elif step == "finish" and open_:
            tracker.finish(open_.pop(choose.randrange(len(open_))))  # type: ignore[attr-defined]
        elif step == "commit" and (mark := tracker.committable()) is not None:
            assert last <= mark <= min(open_, default=at)
            tracker.committed(mark)
            last = mark


def test_a_mark_is_told_once_unless_it_was_refused() -> None:
    tracker = OffsetTracker()
    tracker.start(7)
    tracker.finish(7)
    tracker.committed(8)
    assert tracker.committable() is None
    tracker.committed(None)
    assert tracker.committable() == 8


def test_an_untouched_partition_has_nothing_to_commit() -> None:
    assert OffsetTracker().committable() is None
