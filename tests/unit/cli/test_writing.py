"""A file of items is whole or it is not there."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from odradek.cli.writing import check_output, write_items
from odradek.errors import UserError
from odradek.exporting import FIRST

LINES = [
    json.dumps({"_id": "j:1", "type": "book", "run": 1, "meta": {}, "data": {"title": "A\u2028B", "tags": ["x"]}}),
    json.dumps({"_id": "j:2", "type": "author", "run": 1, "meta": {"k": 1}, "data": {"name": "C", "title": None}}),
]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def breaking() -> Iterator[str]:
    yield LINES[0]
    raise ConnectionResetError(104, "cut off")


def test_json_lines_are_written_as_they_came(tmp_path: Path) -> None:
    written = write_items(tmp_path / "items.jsonl", LINES)

    assert (written, (tmp_path / "items.jsonl").read_text()) == (2, "\n".join(LINES) + "\n")
    assert names(tmp_path) == ["items.jsonl"]


def test_csv_has_the_columns_of_all_items(tmp_path: Path) -> None:
    assert write_items(tmp_path / "items.csv", LINES) == 2

    with (tmp_path / "items.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*FIRST, "data.title", "data.tags", "data.name"]
    assert (rows[0]["data.title"], rows[0]["data.tags"], rows[0]["data.name"]) == ("A\u2028B", '["x"]', "")
    assert (rows[1]["data.name"], rows[1]["meta"]) == ("C", '{"k": 1}')
    assert names(tmp_path) == ["items.csv"]


def test_parquet_has_the_same_columns_and_nulls(tmp_path: Path) -> None:
    assert write_items(tmp_path / "items.parquet", LINES) == 2

    table = pq.read_table(tmp_path / "items.parquet").to_pydict()
    assert (table["_id"], table["data.name"], table["run"]) == (["j:1", "j:2"], [None, "C"], [1, 1])


@pytest.mark.parametrize("name", ["items.jsonl", "items.csv", "items.parquet"])
def test_no_items_are_a_whole_file_too(tmp_path: Path, name: str) -> None:
    assert write_items(tmp_path / name, []) == 0
    assert (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["items.jsonl", "items.csv", "items.parquet"])
def test_what_breaks_in_the_middle_leaves_the_old_file_and_no_litter(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")

    with pytest.raises(UserError, match="cut off"):
        write_items(tmp_path / name, breaking())

    assert (names(tmp_path), (tmp_path / name).read_text()) == ([name], "old")


@pytest.mark.parametrize(
    ("name", "said"),
    [("items.txt", "ends in none of"), ("items", "ends in none of"), ("nowhere/items.csv", "no folder")],
)
def test_an_output_that_could_not_be_written_is_refused_early(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as raised:
        check_output(tmp_path / name)

    assert raised.value.exit_code == 2


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "items.csv").mkdir()

    with pytest.raises(UserError, match="is a folder"):
        check_output(tmp_path / "items.csv")
