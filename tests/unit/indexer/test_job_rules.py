"""Which fields of an item are decimals follows from the job's specification."""

from typing import Any

import pytest
from bson.decimal128 import Decimal128

from odradek.contracts import JobRecord
from odradek_indexer.core.job_rules import job_rules

FIELDS = {
    "title": {"css": "h3"},
    "price": {"css": ".price", "type": "decimal"},
    "prices": {"css": ".price", "type": "decimal", "many": True},
    "offers": {
        "css": ".offer",
        "many": True,
        "fields": {"amount": {"css": ".amount", "type": "decimal"}, "shop": {"css": ".shop"}},
    },
    "seller": {"css": ".seller", "fields": {"name": {"css": ".name"}}},
}
RULES = job_rules(JobRecord(job="job-1", spec={"extract": [{"type": "book", "fields": FIELDS}]}))


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        ({"title": "19.90"}, {"title": "19.90"}),
        ({"price": "19.90"}, {"price": Decimal128("19.90")}),
        ({"price": None}, {"price": None}),
        ({"price": "on request"}, {"price": "on request"}),
        ({"prices": ["1", "2.50"]}, {"prices": [Decimal128("1"), Decimal128("2.50")]}),
        (
            {"offers": [{"amount": "3", "shop": "3"}, {"amount": None}]},
            {"offers": [{"amount": Decimal128("3"), "shop": "3"}, {"amount": None}]},
        ),
        ({"offers": None, "seller": {"name": "1"}}, {"offers": None, "seller": {"name": "1"}}),
    ],
)
def test_decimals_are_stored_as_decimals_at_any_depth_and_all_else_as_it_came(
    data: dict[str, Any], stored: dict[str, Any]
) -> None:
    assert RULES.stored_data("book", data) == stored


def test_other_types_and_jobs_without_rules_are_left_alone() -> None:
    data = {"price": "19.90"}

    assert RULES.stored_data("page", data) is data
    assert job_rules(JobRecord(job="job-1", spec={})).stored_data("book", data) is data


@pytest.mark.parametrize(("spec", "announces"), [({}, False), ({"schedule": {"every": 60}}, True)])
def test_new_items_are_news_where_a_schedule_compares_runs(spec: dict[str, Any], announces: bool) -> None:  # noqa: FBT001  (a parameter)
    assert job_rules(JobRecord(job="job-1", spec=spec)).announces_new is announces
