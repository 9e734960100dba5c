import json
from pathlib import Path
from typing import Any

import pytest
import typer
from bs4 import BeautifulSoup
from tests.unit.parser.pages import a_meta, a_spec
from typer.testing import CliRunner

from odradek.contracts import PageMeta
from odradek.errors import UserError
from odradek_parser.core.inspection import inspect_page
from odradek_parser.core.parsing import Reader
from odradek_parser.tool import extract, inspect

PAGE = "<li data-n=1><b>A</b><i>12</i></li><li><b></b><i>dear</i></li><a href=/n>n</a><a href=mailto:a@b>m</a>"
JOB = """
seeds: ["https://books.example/"]
extract:
  - {type: book, each: li, fields: {name: {css: b}, price: {css: i, type: decimal}, no: {css: "&", attr: data-n}}}
  - {type: slow, each: "li:-soup-contains('A')", fields: {name: {css: b}}}
  - {type: none, each: article, fields: {name: {css: b}}}
  - {type: other, match: /other/, fields: {name: {css: b}}}
  - {type: data, builtin: structured_data}
"""


def a_plugin(soup: BeautifulSoup, _meta: PageMeta) -> list[dict[str, Any]]:
    return [{"type": "item", "first": soup.find("b").get_text()}]


def inspected(html: str, *rules: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return inspect_page(Reader(a_spec(extract=list(rules))), a_meta(**meta), html.encode()).to_dict()


def run(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(extract)
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def test_each_rule_shows_its_parser_its_records_and_why_fields_are_empty(files: Path) -> None:
    result = run(str(files / "page.html"), "--job", str(files / "job.yaml"), "--json")

    found = json.loads(result.output)
    book, slow, none, other, structured = found["rules"]
    assert [record["data"] for record in book["records"]] == [
        {"name": "A", "price": "12", "no": "1"},
        {"name": None, "price": None, "no": None},
    ]
    assert book["records"][1]["malformed"] == ["price: 'dear' is not a number"]
    assert book["why_empty"] == {"name: what was found is empty": 1, "no: the match of & has no attribute data-n": 1}
    assert [rule["engine"] for rule in found["rules"]] == ["lexbor", "beautifulsoup", "lexbor", "lexbor", "builtin"]
    assert [record["data"] for record in slow["records"]] == [{"name": "A"}]
    assert [rule["silent"] for rule in (none, other, structured)] == [
        "nothing matches each article",
        "the URL does not match /other/",
        "the page has no structured_data",
    ]
    assert found["links"] == {"forwarded": ["https://books.example/n"], "duplicates": 0, "refused": {"scheme": 1}}
    assert (found["encoding"], found["encoding_source"]) == ("utf-8", "utf-8")


def test_a_person_reads_the_same_as_text(files: Path) -> None:
    said = run(
        str(files / "page.html"), "--job", str(files / "job.yaml"), "--url", "https://books.example/other/"
    ).output

    assert "https://books.example/other/" in said
    assert "book (lexbor): 2 records, 1 of them malformed" in said
    assert "malformed: price: 'dear' is not a number" in said
    assert "empty in 1: name: what was found is empty" in said
    assert "none (lexbor): nothing matches each article" in said


def test_without_a_job_it_shows_what_every_page_gives(files: Path) -> None:
    [rule] = json.loads(run(str(files / "page.html"), "--json").output)["rules"]

    assert (rule["type"], rule["engine"], len(rule["records"])) == ("page", "builtin", 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.html",), "nowhere.html cannot be read: No such file"),
        (("{}/page.html", "--job", "{}/page.html"), "page.html"),
        (("{}/page.html", "--url", "mailto:a@b"), "is not a URL that can be crawled (scheme)"),
    ],
)
def test_what_a_person_did_wrong_is_one_sentence(files: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(*(argument.format(files) for argument in arguments))

    assert isinstance(result.exception, UserError)
    assert said in str(result.exception)


def test_a_plugin_of_the_job_is_run_by_its_author_and_refused_to_those_who_ask_from_outside(files: Path) -> None:
    name = f"{__name__}:a_plugin"
    (files / "plugged.yaml").write_text(f'extract: []\nplugins: ["{name}"]\n')
    spec = a_spec(extract=[], plugins=[name])

    [rule] = json.loads(run(str(files / "page.html"), "--job", str(files / "plugged.yaml"), "--json").output)["rules"]

    assert (rule["type"], rule["engine"], rule["records"][0]["data"]) == ("item", "plugin", {"first": "A"})
    with pytest.raises(UserError, match="ODRADEK_PLUGINS"):
        inspect(spec, a_meta(), b"")


def test_xml_and_json_are_read_by_parsers_of_their_own() -> None:
    xml = inspected("<a><b>1</b></a>", {"type": "x", "fields": {"b": {"css": "b"}}}, content_type="text/xml")
    js = inspected('{"b": 1}', {"type": "x", "fields": {"b": {"json": "b"}}}, content_type="application/json")

    assert [(each["kind"], each["rules"][0]["engine"]) for each in (xml, js)] == [("xml", "lxml"), ("json", "json")]
