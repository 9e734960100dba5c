"""The topic table is the only place where a topic's name is spelled, and the documents say what it says."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.reference import documents
from odradek.topics import DEFAULT_PREFIX, TOPICS

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("shared", "services") for path in (ROOT / folder).rglob("*.py"))
DOCUMENTS = documents()
FULL_NAME = re.compile(rf"{re.escape(DEFAULT_PREFIX)}({'|'.join(TOPICS)})\b(?!\.)")
TAKES_A_TOPIC = {"topic", "partitions", "Send", "Runner", "View", "end_offsets", "committed", "passed"}


def spelled(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines that spell a topic: its full name in a string, or its name handed to what takes a topic."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if FULL_NAME.search(node.value):
                yield node.lineno, node.value
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for argument in node.args if name in TAKES_A_TOPIC else ():
                if isinstance(argument, ast.Constant) and argument.value in TOPICS:
                    yield node.lineno, argument.value


@pytest.mark.parametrize("code", ['x = "odradek.pages"', 'producer.partitions("frontier")', 'Send("items", "k", b"")'])
def test_a_spelled_topic_is_found(code: str) -> None:
    assert list(spelled(ast.parse(code)))


def test_topic_names_are_spelled_in_the_table_alone() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}": text
        for path in SOURCES
        if path.name != "topics.py"
        for line, text in spelled(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_every_topic_has_a_writer_a_reader_and_a_reason_for_its_key() -> None:
    assert [topic.name for topic in TOPICS.values() if not (topic.written_by and topic.read_by and topic.why)] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=str)
def test_generated_documents_are_fresh(path: Path) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == DOCUMENTS[path], "run make docs"


def test_no_schema_is_left_of_a_message_that_is_gone() -> None:
    kept = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "schemas").glob("*")}
    assert kept == {str(path) for path in DOCUMENTS if "schemas" in path.parts}
