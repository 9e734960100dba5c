"""The vocabulary of the stores: what the indexer writes and the gateway reads."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import bson
import msgspec
import pytest
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.datetime_ms import DatetimeMS
from bson.decimal128 import Decimal128
from hypothesis import given
from hypothesis import strategies as st

from odradek.contracts import Item
from odradek.errors import UserError
from odradek.settings import Settings
from odradek.stores import (
    ItemFilter,
    connect_documents,
    connect_search,
    decimal128,
    exported_json,
    exported_line,
    instant,
    item_document,
    job_range,
    plain_decimal,
    without_references,
)
from odradek.stores.stretches import WHOLE, Stretches

AS_READ: CodecOptions[dict[str, Any]] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)

ITEM = Item(
    id="job-1:ab", job="job-1", type="book", url="https://books.example/1.html", run=2, meta={"shop": "north"},
    data={"price": "19.90", "tags": ["a"], "offers": [{"amount": "1.10"}]}, fetched_at_ms=1_790_000_000_123,
)  # fmt: skip


def test_an_exported_line_has_the_fields_users_rely_on_and_strings_for_decimals() -> None:
    data = ITEM.data | {"price": Decimal128("19.90"), "offers": [{"amount": Decimal128("1.10")}]}
    document = item_document(ITEM, data, 1_789_999_999_007)

    line = exported_line(document)

    assert list(line.items()) == [
        ("_id", "job-1:ab"),
        ("type", "book"),
        ("url", "https://books.example/1.html"),
        ("job_id", "job-1"),
        ("run", 2),
        ("first_seen", "2026-09-21T14:13:19.007Z"),
        ("last_seen", "2026-09-21T14:13:20.123Z"),
        ("meta", {"shop": "north"}),
        ("data", ITEM.data),
    ]
    assert json.loads(exported_json(document)) == line


@pytest.mark.parametrize(
    "data",
    [
        {"gtin": 9_780_140_449_136, "counts": [2**62, -(2**40)]},
        {"schema": {"$ref": "#/book", "$id": "b", "more": {"$ref": "x", "$id": 2**40, "$db": "d"}}},
        {"$ref": "x", "$id": 1},
    ],
    ids=["whole numbers past 32 bits", "what the driver takes for references", "data that is one"],
)
def test_data_is_exported_as_it_was_before_the_driver_made_kinds_of_its_own(data: dict[str, Any]) -> None:
    stored = bson.decode(bson.encode(item_document(ITEM, data, 0)), AS_READ)

    assert json.loads(exported_json(stored))["data"] == data
    assert json.loads(msgspec.json.encode(exported_line(stored)["data"], enc_hook=int)) == data
    assert without_references(stored["data"]) == data


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), (DatetimeMS(0), "1970-01-01T00:00:00.000Z"), (DatetimeMS(1), "1970-01-01T00:00:00.001Z"),
     (DatetimeMS(999).as_datetime(), "1970-01-01T00:00:00.999Z"), (DatetimeMS(-1), "1969-12-31T23:59:59.999Z")],
)  # fmt: skip
def test_instants_are_utc_with_milliseconds(value: object, text: str | None) -> None:
    assert instant(value) == text


@given(st.decimals(allow_nan=False, allow_infinity=False, places=None).filter(lambda n: len(n.as_tuple().digits) < 35))
def test_a_decimal_is_stored_as_mongodb_s_own_driver_would(number: Decimal) -> None:
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and -6000 < exponent < 6000:
        assert decimal128(str(number)) == Decimal128(number)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,12})?", fullmatch=True))
def test_a_decimal_comes_back_digit_for_digit(text: str) -> None:
    stored = decimal128(text)

    assert stored == Decimal128(text)
    assert plain_decimal(Decimal128(text)) == text


@pytest.mark.parametrize("text", ["", "1,5", "NaN", "Infinity", "-", "1" * 40, "0x1"])
def test_what_is_no_finite_decimal_is_none(text: str) -> None:
    assert decimal128(text) is None


@pytest.mark.parametrize(("text", "plain"), [("1E+5", "100000"), ("1E-7", "0.0000001"), ("-0.00", "-0.00")])
def test_a_decimal_never_shows_an_exponent(text: str, plain: str) -> None:
    assert plain_decimal(Decimal128(text)) == plain


def test_a_job_is_a_range_of_ids() -> None:
    (bounds,) = job_range("job-1").values()

    inside = ["job-1:0", "job-1:ab", "job-1:zz"]
    outside = ["job-1", "job-10:ab", "job-2:ab", "job-1;"]
    assert [bounds["$gte"] <= name < bounds["$lt"] for name in inside + outside] == [True] * 3 + [False] * 4


def test_a_job_is_paged_through_after_an_id() -> None:
    (match,) = Stretches("job-1", ItemFilter(type="book", since_ms=5), after="job-1:ab", width=WHOLE)

    assert match == {
        "_id": {"$gt": "job-1:ab", "$lt": "job-1;"},
        "type": "book",
        "last_seen": {"$gte": DatetimeMS(5)},
    }


@pytest.mark.parametrize(
    ("connect", "variable", "value"),
    [
        (connect_documents, "ODRADEK_MONGODB_URL", "http://mongodb"),
        (connect_documents, "ODRADEK_MONGODB_URL", "mongodb://"),
        (connect_documents, "ODRADEK_MONGODB_URL", "mongodb://host/?w=0"),
        (connect_search, "ODRADEK_ELASTICSEARCH_URL", "search:9200"),
        (connect_search, "ODRADEK_ELASTICSEARCH_CA", "/nowhere/ca.pem"),
    ],
)
def test_a_wrong_address_is_refused_by_the_name_of_its_variable(
    connect: Callable[[Settings], object], variable: str, value: str
) -> None:
    settings = Settings.read({variable: value})

    with pytest.raises(UserError, match=variable):
        connect(settings)


def test_the_driver_sends_no_write_again_by_itself() -> None:
    """Of a bulk only the last waits for the journal: if that is lost with its server, the bulk must fail as a whole."""
    database = connect_documents(Settings.read({"ODRADEK_MONGODB_URL": "mongodb://127.0.0.1:1/?connect=false"}))

    assert database.client.options.retry_writes is False
    database.client.close()
