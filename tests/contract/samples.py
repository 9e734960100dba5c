"""One sample of every message with every field set, and the files that keep it.

`python tests/contract/samples.py` writes a golden file for each message whose newest one no longer has all fields;
files that exist are never changed: they are what older versions of Odradek wrote.
"""

import types
import typing
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from odradek.contracts import SCHEMA_VERSION, Batch, Fact
from odradek.reference import topic_messages

GOLDEN = Path(__file__).parent / "golden"


def messages() -> list[type[msgspec.Struct]]:
    """Whole values of topics, and each fact of a batch."""
    return [kind for kind in (*topic_messages(), *get_args(Fact)) if kind is not Batch]


def a_full(kind: type[msgspec.Struct]) -> msgspec.Struct:
    """A message in which no field has its default."""
    fields = msgspec.structs.fields(kind)
    return kind(**{field.name: _value(field.type, field.name, field.default) for field in fields})


def golden_files(kind: type[msgspec.Struct]) -> list[Path]:
    """Oldest first: `Item.v1.json`, `Item.v1.2.json`, …; a further one when a field was added."""
    return sorted(GOLDEN.glob(f"{kind.__name__}.v*.json"), key=_number)


def _number(path: Path) -> list[int]:
    return [int(part) for part in path.name.split(".v")[1].removesuffix(".json").split(".")]


def _value(annotation: Any, name: str, default: Any) -> Any:  # noqa: PLR0911  (one line for each kind of type)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        return _value(inner[0], name, default)
    if annotation is bool:
        return default is not True
    if annotation in _PLAIN:
        return {str: f"a {name}", int: 7, float: 1.5, Any: [name, 1, None]}[annotation]
    if origin is Literal:
        return next(each for each in reversed(inner) if each != default)
    if origin in (typing.Union, types.UnionType):
        return _value(next(each for each in inner if each is not types.NoneType), name, default)
    if origin is tuple:
        return (_value(inner[0], name, None),)
    if origin is dict:
        return {"k": _value(inner[1], name, None)}
    if issubclass(annotation, msgspec.Struct):
        return a_full(annotation)
    raise TypeError(f"no sample for {annotation} of {name}")


_PLAIN = (str, int, float, Any)


def write_missing() -> None:
    """Keep the newest form of each message whose golden files are older."""
    GOLDEN.mkdir(exist_ok=True)
    for kind in messages():
        files, text = golden_files(kind), msgspec.json.format(msgspec.json.encode(a_full(kind)), indent=2) + b"\n"
        if not files or files[-1].read_bytes() != text:
            suffix = f".{len(files) + 1}" if files else ""
            (GOLDEN / f"{kind.__name__}.v{SCHEMA_VERSION}{suffix}.json").write_bytes(text)


if __name__ == "__main__":
    write_missing()
