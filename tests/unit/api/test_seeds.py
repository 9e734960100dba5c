"""Seeds are judged one by one; what is bad never loses what is good."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.contracts import Discovered, JobRecord
from odradek.kafka.records import ToFrontier
from odradek_api.core.lines import MAX_LINE_BYTES, LineReader, Numbered
from odradek_api.core.seeds import BadLine, SeedJudge, SeedLine, Verdicts, from_values


def a_judge(*, allow_private: bool = False, **spec: object) -> SeedJudge:
    return SeedJudge(JobRecord(job="j", spec=dict(spec)), allow_private=allow_private)


def read_lines(lines: list[str], content_type: str) -> list[Numbered]:
    return in_pieces("\n".join(lines).encode(), content_type)


def in_pieces(body: bytes, content_type: str, size: int = 1_000_000) -> list[Numbered]:
    reader = LineReader(content_type)
    found = [each for start in range(0, len(body), size) for each in reader.feed(body[start : start + size])]
    return [*found, *reader.end()]


def test_a_good_seed_becomes_a_fact_for_the_partition_of_its_host() -> None:
    judged = a_judge(priority=70).judge(SeedLine(url="https://www.books.example/a#top"))

    assert isinstance(judged, ToFrontier)
    fact = judged.fact
    assert isinstance(fact, Discovered)
    assert (judged.key, fact.url, fact.priority, fact.seed, fact.site) == (
        "books.example", "https://www.books.example/a", 70, True, "books.example",
    )  # fmt: skip


def test_a_seed_in_a_private_network_is_refused_unless_allowed() -> None:
    seed = SeedLine(url="http://127.0.0.1:8088/")

    assert a_judge().judge(seed) == "private_address"
    assert isinstance(a_judge(allow_private=True).judge(seed), ToFrontier)


def test_a_seed_outside_the_named_domains_is_refused() -> None:
    judge = a_judge(scope={"allowed_domains": ["books.example"]})

    assert judge.judge(SeedLine(url="https://other.example/")) == "scope"


def test_bad_lines_are_told_by_number_and_the_good_ones_are_taken() -> None:
    verdicts = Verdicts()
    lines = ["https://a.example/", "", "# a comment", "ftp://b.example/", "http://", "https://c.example/"]

    facts, _ = a_judge().judge_all(read_lines(lines, "text/plain"), verdicts)

    assert [each.key for each in facts] == ["a.example", "c.example"]
    assert verdicts.answer() == {
        "received": 2,
        "rejected_total": 2,
        "rejected": [
            {"line": 4, "url": "ftp://b.example/", "reason": "scheme"},
            {"line": 5, "url": "http://", "reason": "malformed"},
        ],
    }


def test_csv_takes_the_first_column_and_skips_a_header() -> None:
    lines = ["url,note", '"https://a.example/?q=1,2",x']

    assert read_lines(lines, "text/csv") == [(2, SeedLine(url="https://a.example/?q=1,2"))]


def test_ndjson_takes_strings_and_objects_and_keeps_what_is_neither_for_the_verdict() -> None:
    lines = ['"https://a.example/"', '{"url": "https://b.example/", "priority": 9}', "{nonsense"]

    assert read_lines(lines, "application/x-ndjson") == [
        (1, SeedLine(url="https://a.example/")),
        (2, SeedLine(url="https://b.example/", priority=9)),
        (3, BadLine("{nonsense")),
    ]


def test_only_the_first_thousand_rejections_are_kept_and_all_are_counted() -> None:
    verdicts = Verdicts()

    a_judge().judge_all(from_values(["mailto:x"] * 1500), verdicts)

    assert (len(verdicts.rejected), verdicts.rejected_total, verdicts.received) == (1000, 1500, 0)


@given(size=st.integers(min_value=1, max_value=40))
def test_lines_are_numbered_the_same_however_the_body_is_cut(size: int) -> None:
    body = "\ufeffhttps://a.example/\r\n\n# no\nhttps://b\u00fc.example/\nlast".encode()

    assert in_pieces(body, "text/plain", size) == [
        (1, SeedLine(url="https://a.example/")),
        (4, SeedLine(url="https://b\u00fc.example/")),
        (5, SeedLine(url="last")),
    ]


@pytest.mark.parametrize("size", [1000, 10_000_000])
def test_a_line_without_end_costs_no_memory_and_is_told_by_its_number(size: int) -> None:
    body = (
        b"https://a.example/\n" + b"x" * (3 * MAX_LINE_BYTES) + b"\nhttps://c.example/\n" + b"y" * (2 * MAX_LINE_BYTES)
    )

    assert in_pieces(body, "text/plain", size) == [
        (1, SeedLine(url="https://a.example/")),
        (2, BadLine("x" * 2083, "too_long")),
        (3, SeedLine(url="https://c.example/")),
        (4, BadLine("y" * 2083, "too_long")),
    ]


def test_a_csv_header_names_the_columns() -> None:
    lines = ["note,URL,priority", "x,https://a.example/,90", "y,https://b.example/,", "z,https://c.example/,high", "w"]

    assert read_lines(lines, "text/csv") == [
        (2, SeedLine(url="https://a.example/", priority=90)),
        (3, SeedLine(url="https://b.example/")),
        (4, BadLine("z,https://c.example/,high")),
        (5, BadLine("w")),
    ]


def test_an_object_with_an_unknown_field_or_a_wrong_priority_is_no_seed() -> None:
    values = [{"url": "https://a.example/", "prio": 1}, {"url": "https://a.example/", "priority": 101}, 5, None]

    assert [seed for _, seed in from_values(values)] == [BadLine(str(value)) for value in values]


def test_a_seed_that_the_crawl_would_exclude_is_refused() -> None:
    judge = a_judge(scope={"exclude": ["/private"]})

    assert judge.judge(SeedLine(url="https://a.example/private/1")) == "excluded"
