"""A library that says the same again and again is heard once, with how often it said it."""

import logging

from odradek.runtime.logs import MOST_KINDS, Sparing


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def said(filtering: Sparing, text: str, by: str = "aiokafka.consumer") -> str | None:
    """What is heard of it."""
    record = logging.LogRecord(by, logging.ERROR, "", 0, "%s", (text,), None)
    return record.getMessage() if filtering.filter(record) else None


def test_what_differs_in_numbers_only_is_heard_once_and_counted() -> None:
    clock = Clock()
    filtering = Sparing(30, clock)

    heard = [said(filtering, f"FAIL [consumer-{number}]: refused after {number} ms") for number in range(1, 6)]
    clock.now_s += 30
    heard.append(said(filtering, "FAIL [consumer-7]: refused after 0 ms"))
    clock.now_s += 30
    heard.append(said(filtering, "FAIL [consumer-8]: refused after 0 ms"))

    assert heard == [
        "FAIL [consumer-1]: refused after 1 ms",
        *[None] * 4,
        "FAIL [consumer-7]: refused after 0 ms (4 more like this since the last)",
        "FAIL [consumer-8]: refused after 0 ms",
    ]


def test_something_else_is_heard_at_once() -> None:
    filtering = Sparing(30, Clock())

    assert [said(filtering, text) for text in ("refused", "timed out", "refused")] == ["refused", "timed out", None]


def test_what_others_say_is_heard_each_time() -> None:
    filtering = Sparing(30, Clock())

    assert [said(filtering, "page 1 is poison", by="odradek") for _ in range(2)] == ["page 1 is poison"] * 2


def test_kinds_without_end_are_not_kept_without_end() -> None:
    filtering = Sparing(30, Clock())
    names = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(3 * MOST_KINDS)]

    assert [said(filtering, name) for name in names] == names
    assert len(filtering._said) <= MOST_KINDS
