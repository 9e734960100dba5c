"""The pure parts of `odradek crawl`: flags over file, what tells two crawls apart, exit codes."""

from typing import Any

import pytest

from odradek.cli.crawl import _exit_code, _overrides, digest_of, has_ended, next_run
from odradek.cli.given import given
from odradek.errors import UserError
from odradek.specification import JobSpecification, validated


def flags(values: dict[str, Any], urls: list[str] | None = None, **told: Any) -> dict[str, Any]:
    return given(values, urls or [], told.get("max_pages"), told.get("max_depth"), told.get("delay"))


def test_a_flag_wins_over_the_file_and_leaves_its_neighbours() -> None:
    values = {"scope": {"max_pages": 5, "max_depth": 1}, "politeness": {"concurrency_per_host": 4}}

    found = flags(values, max_pages=9, delay="500ms")

    assert found == {
        "scope": {"max_pages": 9, "max_depth": 1},
        "politeness": {"concurrency_per_host": 4, "delay": "500ms"},
    }
    assert values["scope"] == {"max_pages": 5, "max_depth": 1}


def test_a_zero_is_a_flag_too() -> None:
    assert flags({"scope": {"max_depth": 3}}, max_depth=0) == {"scope": {"max_depth": 0}}


def test_urls_are_added_to_the_seeds_of_the_file() -> None:
    assert flags({"seeds": ["https://a.example/"]}, ["https://b.example/"])["seeds"] == [
        "https://a.example/",
        "https://b.example/",
    ]
    assert flags({"seeds": None}, ["https://b.example/"])["seeds"] == ["https://b.example/"]


@pytest.mark.parametrize(
    ("values", "field"), [({"seeds": "https://a.example/"}, "seeds"), ({"scope": "books.example"}, "scope")]
)
def test_what_is_wrong_in_the_file_is_named_not_crashed_on(values: dict[str, Any], field: str) -> None:
    merged = flags(values, ["https://b.example/"], max_pages=3)

    with pytest.raises(UserError, match=f"wrong at {field}"):
        validated(merged, "The job file")


def a_spec(**values: Any) -> JobSpecification:
    return JobSpecification.model_validate({"seeds": ["https://a.example/"]} | values)


def test_the_order_of_fields_and_defaults_written_out_make_no_other_crawl() -> None:
    first = a_spec(scope={"max_pages": 5, "max_depth": 2}, priority=50)
    second = a_spec(scope={"max_depth": 2, "max_pages": 5})

    assert digest_of(first) == digest_of(second)


@pytest.mark.parametrize("change", [{"seeds": ["https://b.example/"]}, {"scope": {"max_pages": 6}}, {"name": "x"}])
def test_any_other_value_makes_another_crawl(change: dict[str, Any]) -> None:
    assert digest_of(a_spec()) != digest_of(a_spec(**change))


@pytest.mark.parametrize(
    ("known", "run"),
    [({"job_id": "j"}, 1), ({"job_id": "j", "run": 3}, 3), ({"job_id": "j", "run": 3, "result": {}}, 4)],
)
def test_the_same_command_goes_on_with_a_run_that_was_cut_off_and_after_its_end_with_the_next(
    known: dict[str, Any], run: int
) -> None:
    assert next_run(known) == run


def test_the_end_of_the_run_before_is_not_that_of_this_one() -> None:
    assert [has_ended({"state": "complete", "run": run}, 2) for run in (1, 2, 3)] == [False, True, True]
    assert not has_ended({"state": "running", "run": 2}, 2)


@pytest.mark.parametrize(
    ("state", "balanced", "code"),
    [("complete", True, 0), ("complete", False, 1), ("failed", True, 1), ("cancelled", True, 1)],
)
def test_zero_is_complete_and_balanced_and_nothing_else(state: str, balanced: bool, code: int) -> None:  # noqa: FBT001  (a row)
    assert _exit_code({"state": state, "audit": {"balanced": balanced}}) == code


def test_a_crawl_may_use_the_plugins_of_its_own_file_beside_those_allowed() -> None:
    spec = a_spec(plugins=["mine.books:records"])

    assert _overrides(spec, {"ODRADEK_PLUGINS": "other:thing"}, private=True) == {
        "ODRADEK_PLUGINS": "other:thing,mine.books:records",
        "ODRADEK_ALLOW_PRIVATE_NETWORKS": "1",
    }
    assert _overrides(a_spec(), {}, private=False) == {}
