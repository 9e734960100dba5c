"""What a job's rules and a page's bytes cannot reach: files, the network, code that nobody has allowed."""

import sys

import pytest
from tests.unit.parser.pages import a_job, a_record, a_spec, extracted
from tests.unit.parser.test_handling import a_handler, facts

from odradek.kafka.records import Poison

MODULE = "antigravity"
"""A module of the standard library that opens a browser when it is imported."""


@pytest.mark.parametrize("name", [f"{MODULE}:fly", "os:system", "builtins:eval", "tests.drill.plugins:suffer"])
async def test_a_plugin_that_the_settings_do_not_name_is_not_even_imported(name: str) -> None:
    before = set(sys.modules)
    handler = a_handler(a_job(a_spec(plugins=[name])), plugins=("another.module:function",))

    [result] = await handler.handle([a_record("<b>7</b>")])

    assert isinstance(result, Poison)
    assert "ODRADEK_PLUGINS" in result.error
    assert [fact.outcome for fact in facts(result)] == ["failed"]
    assert MODULE not in set(sys.modules) - before


@pytest.mark.parametrize(
    "expression",
    ["re:test(., '(a+)+$')", "document('file:///etc/passwd')", "str:tokenize(., 'a')", "dyn:evaluate('//x')", "$x"],
)
def test_an_xpath_reaches_neither_files_nor_an_engine_that_could_hang(expression: str) -> None:
    html = f"<p>{'a' * 40}!</p>"

    [record] = extracted(html, {"type": "t", "fields": {"f": {"xpath": expression}}})

    assert record.data == {"f": None}
    assert "the XPath fails here" in record.problems[0]


def test_entities_of_a_document_are_neither_loaded_nor_blown_up() -> None:
    doctype = (
        "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>"
        + "".join(f"<!ENTITY {new} '{f'&{old};' * 10}'>" for old, new in zip("abcdefghi", "bcdefghij", strict=True))
        + "<!ENTITY file SYSTEM 'file:///etc/passwd'><!ENTITY % net SYSTEM 'http://127.0.0.1:9/x'>%net;]>"
    )
    xml = f"<?xml version='1.0'?>{doctype}<x><t>&file;</t><t>&j;</t></x>"

    records = extracted(
        xml, {"type": "t", "each": "t", "fields": {"f": {"xpath": "string(.)"}}}, content_type="application/xml"
    )

    assert sum(len(str(record.data)) for record in records) < 1000
    assert "root:" not in str(records)
