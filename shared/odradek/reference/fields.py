"""What a message's fields are: name on the wire, type, default and meaning, read from the class and its source."""

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class FieldReference:
    """One row of a message's table."""

    name: str
    """As it stands in the JSON."""
    type: str
    """As it is annotated."""
    default: str
    """`required`, or what is meant when the field is left out."""
    meaning: str


def fields_of(kind: type[msgspec.Struct]) -> list[FieldReference]:
    """The fields of a message in the order of its definition."""
    declared = _declared(inspect.getmodule(kind))[kind.__name__]
    return [
        FieldReference(each.encode_name, *_declaration(declared, each.name, _default(each)))
        for each in msgspec.structs.fields(kind)
    ]


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *([_cell(text) for text in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _declaration(declared: dict[str, tuple[str, str]], name: str, default: str) -> tuple[str, str, str]:
    annotation, meaning = declared.get(name, ("", ""))
    return annotation, default, meaning


def _default(field: msgspec.structs.FieldInfo) -> str:
    value: Any = field.default
    if value is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT:
        return "required"
    return f"`{msgspec.json.encode(value).decode()}`"


@cache
def _declared(module: ModuleType | None) -> dict[str, dict[str, tuple[str, str]]]:
    """Annotation and docstring of every field of every class in a module's source."""
    if module is None:
        return {}
    classes = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef)]
    return {node.name: _annotated(node) for node in classes}


def _annotated(node: ast.ClassDef) -> dict[str, tuple[str, str]]:
    found = {}
    for statement, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = after.value if isinstance(after, ast.Expr) else None
            meaning = text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
            found[statement.target.id] = (f"`{ast.unparse(statement.annotation)}`", meaning)
    return found
