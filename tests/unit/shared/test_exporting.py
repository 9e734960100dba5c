"""Items as tables: the columns of all items, nothing lost on the way to Parquet and back, no formulas in CSV."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.exporting import FIRST, MAX_FIELDS, csv_pieces, parquet_pieces


def a_line(number: int = 1, **data: Any) -> bytes:
    fixed = {name: f"{name} {number}" for name in FIRST} | {"_id": f"j:{number:04}", "run": 1, "meta": {"shop": "n"}}
    return json.dumps(fixed | {"data": data}, ensure_ascii=False).encode() + b"\n"


def with_data(number: int, data: dict[str, Any]) -> bytes:
    return a_line(number).replace(b'"data": {}', b'"data": ' + json.dumps(data).encode())


def read_csv(*lines: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(csv_pieces(lines)).decode(), newline="")))


def read_parquet(*lines: bytes) -> list[dict[str, Any]]:
    table = pq.read_table(io.BytesIO(b"".join(parquet_pieces(lines))))
    nested = {field.name for field in table.schema if (field.metadata or {}).get(b"odradek") == b"json"}
    return [
        {name: json.loads(value) if name in nested and value is not None else value for name, value in row.items()}
        for row in table.to_pylist()
    ]


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+SUM(A1)",
        "@cmd",
        "-2+3",
        "\t=1",
        "\r=1",
        "-",
        "=",
        "+a",
        " =1",
        "\n=1",
        "\u00a0@x",
        "\uff1d1",
        " \uff0dx",
        "\0=1",
    ],
)
def test_a_text_that_a_spreadsheet_takes_for_a_formula_is_defused(text: str) -> None:
    assert read_csv(a_line(title=text))[0]["data.title"] == f"'{text}"


@pytest.mark.parametrize("text", ["-5.20", "+49", "-.5", "1e5", "-1e-5", "a=b", "", "Grüße", 'a "b", c', "a\nb"])
def test_numbers_and_other_texts_stay_as_they_are(text: str) -> None:
    assert read_csv(a_line(title=text))[0]["data.title"] == text


def test_a_formula_in_the_name_of_a_field_or_in_fixed_columns_is_defused() -> None:
    line = json.dumps({"_id": "j:1", "url": "=x", "data": {"=y": 1}}).encode()

    (row,) = read_csv(line)

    assert row["url"] == "'=x"
    assert row["data.=y"] == "1"


def test_tables_have_the_columns_of_all_items_and_nulls_where_there_is_nothing() -> None:
    lines = (a_line(1, title="A", tags=["x", "y"]), a_line(2, title=None, maker={"name": "B"}))

    first, second = read_csv(*lines)

    assert list(first) == [*FIRST, "data.title", "data.tags", "data.maker"]
    assert (first["data.tags"], first["data.maker"], first["meta"]) == ('["x", "y"]', "", '{"shop": "n"}')
    assert (second["data.title"], second["data.maker"]) == ("", '{"name": "B"}')


@pytest.mark.parametrize("read", [read_csv, read_parquet])
def test_of_more_fields_than_a_table_can_have_the_rest_lie_in_one_column(
    read: Callable[..., list[dict[str, Any]]],
) -> None:
    lines = [a_line(number, **{f"f{number}": number, "same": number}) for number in range(MAX_FIELDS + 2)]

    rows = read(*lines)

    assert list(rows[0]) == [*FIRST, "data.f0", "data.same", *(f"data.f{n}" for n in range(1, MAX_FIELDS - 1)), "data"]
    assert rows[5]["data"] in (None, "")
    assert rows[MAX_FIELDS]["data"] in ({f"f{MAX_FIELDS}": MAX_FIELDS}, f'{{"f{MAX_FIELDS}": {MAX_FIELDS}}}')
    assert [int(row["data.same"]) for row in rows] == list(range(MAX_FIELDS + 2))


def test_parquet_keeps_kinds() -> None:
    lines = (
        a_line(1, text="a", whole=1, real=1.5, truth=True, mixed="a", nested={"a": [1]}, both=1, huge=2**70, none=None),
        a_line(2, text="b", whole=-(2**62), real=None, truth=None, mixed=1, nested=None, both=0.5, huge=1, none=None),
    )

    table = pq.read_table(io.BytesIO(b"".join(parquet_pieces(lines))))

    kinds = {
        name.removeprefix("data."): str(table.schema.field(name).type) for name in table.column_names[len(FIRST) :]
    }
    assert kinds == {
        "text": "string", "whole": "int64", "real": "double", "truth": "bool", "mixed": "string", "nested": "string",
        "both": "double", "huge": "string", "none": "string",
    }  # fmt: skip
    assert table.to_pylist()[0]["data.nested"] == '{"a":[1]}'


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=6))
def test_whatever_goes_into_parquet_comes_back(items: list[dict[str, Any]]) -> None:
    back = read_parquet(*(with_data(number, item) for number, item in enumerate(items)))

    names = {name for item in items for name in item}
    assert [{name: row[f"data.{name}"] for name in names} for row in back] == [
        {name: item.get(name) for name in names} for item in items
    ]
    assert [row["_id"] for row in back] == [f"j:{number:04}" for number in range(len(items))]


LARGE = """
import json, resource, sys
from odradek.exporting import TABLES
def lines():
    text = "x" * 1_000_000
    for number in range(int(sys.argv[2])):
        yield json.dumps({"_id": f"j:{number:04}", "data": {"text": text, "number": number}}).encode()
wrote = sum(len(piece) for piece in TABLES[sys.argv[1]](lines()))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, wrote)
"""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_memory_does_not_grow_with_what_is_written(ending: str) -> None:
    def peak_mib(items: int) -> int:
        made = subprocess.run(
            [sys.executable, "-c", LARGE, ending, str(items)], check=True, capture_output=True, text=True
        )
        return int(made.stdout.split()[0])

    assert peak_mib(150) < peak_mib(30) + 60
