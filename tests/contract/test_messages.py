"""What was written once can be read for ever."""

import importlib.util
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from odradek import contracts
from odradek.contracts import Batch, Fact, Message, decode, encode

_spec = importlib.util.spec_from_file_location("samples", Path(__file__).with_name("samples.py"))
assert _spec is not None
assert _spec.loader is not None
samples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(samples)

KINDS = samples.messages()
FILES = sorted(samples.GOLDEN.glob("*.json"))


def kind_of(path: Path) -> type[msgspec.Struct]:
    return getattr(contracts, path.name.split(".")[0])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_golden_file_still_decodes_and_loses_nothing(path: Path) -> None:
    message = decode(kind_of(path), path.read_bytes())
    assert covers(msgspec.json.decode(encode(message)), msgspec.json.decode(path.read_bytes()))


def covers(have: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(have, dict) and all(key in have and covers(have[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(have) == len(wanted) and all(map(covers, have, wanted))
    return bool(have == wanted)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_newest_golden_file_has_every_field(kind: type[msgspec.Struct]) -> None:
    files = samples.golden_files(kind)
    assert files, "run python tests/contract/samples.py and commit what it writes"
    assert decode(kind, files[-1].read_bytes()) == samples.a_full(kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_sample_leaves_no_field_at_its_default(kind: type[msgspec.Struct]) -> None:
    on_the_wire = msgspec.json.decode(encode(samples.a_full(kind)))
    assert {field.encode_name for field in msgspec.structs.fields(kind)} <= set(on_the_wire)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_message_of_a_newer_version_can_be_read(kind: type[msgspec.Struct]) -> None:
    newer = msgspec.json.decode(encode(samples.a_full(kind))) | {"added_later": {"a": 1}}
    assert decode(kind, msgspec.json.encode(newer)) == samples.a_full(kind)


def test_a_batch_keeps_its_facts_and_their_order() -> None:
    batch = Batch(facts=tuple(samples.a_full(kind) for kind in get_args(Fact)))
    assert decode(Batch, encode(batch)) == batch


def test_every_exported_message_is_reachable_from_a_topic() -> None:
    exported = {
        value for value in vars(contracts).values() if isinstance(value, type) and issubclass(value, Message)
    } - {Message}
    reachable: set[type] = set()
    _collect(Batch, reachable)
    for kind in KINDS:
        _collect(kind, reachable)
    assert exported == reachable & exported


def _collect(annotation: Any, into: set[type]) -> None:
    if isinstance(annotation, type) and issubclass(annotation, Message):
        into.add(annotation)
        for field in msgspec.structs.fields(annotation):
            _collect(field.type, into)
    for part in get_args(annotation):
        _collect(part, into)
