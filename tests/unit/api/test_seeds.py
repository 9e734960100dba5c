"""Seeds are judged one by one; what is bad never loses what is good."""

from odradek.contracts import Discovered, JobRecord
from odradek.kafka.records import ToFrontier
from odradek_api.core.seeds import SeedJudge, SeedLine, Verdicts, from_values, read_lines


def a_judge(*, allow_private: bool = False, **spec: object) -> SeedJudge:
    return SeedJudge(JobRecord(job="j", spec=dict(spec)), allow_private=allow_private)


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

    facts = a_judge().judge_all(read_lines(lines, "text/plain"), verdicts)

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

    assert list(read_lines(lines, "text/csv")) == [(2, SeedLine(url="https://a.example/?q=1,2"))]


def test_ndjson_takes_strings_and_objects_and_keeps_what_is_neither_for_the_verdict() -> None:
    lines = ['"https://a.example/"', '{"url": "https://b.example/", "priority": 9}', "{nonsense"]

    assert list(read_lines(lines, "application/x-ndjson")) == [
        (1, SeedLine(url="https://a.example/")),
        (2, SeedLine(url="https://b.example/", priority=9)),
        (3, "{nonsense"),
    ]


def test_only_the_first_thousand_rejections_are_kept_and_all_are_counted() -> None:
    verdicts = Verdicts()

    a_judge().judge_all(from_values(["mailto:x"] * 1500), verdicts)

    assert (len(verdicts.rejected), verdicts.rejected_total, verdicts.received) == (1000, 1500, 0)
