"""Messages that nobody meant: golden samples cut, flipped, with fields of other types and absurd values."""

import json
import random
from pathlib import Path
from typing import Any, Final

from tests.contract.samples import GOLDEN

ABSURD: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64, 10**40, 0.5, -1e308, 1e308, "", " ", "\0", "\n\r",
    "a" * 100_000, "\ud7ff\U0001f984", "../../etc/passwd", "http://[", "https://a.example/", "${env:HOME}", "9" * 400,
    [], [None], [[[]]], {}, {"": None}, {"a": {"b": [1, 2, {"c": "d"}]}}, ["a"] * 200, "fetched", "failed", "page",
    "running", "robots", "1970-01-01T00:00:00Z", "24h", "a.example", "127.0.0.1", "*", "(", "\u202e",
)  # fmt: skip


ALIKE: Final = 0.8
"""How often another value is of the same type, so that it passes the decoder."""


def golden(kind: str) -> list[bytes]:
    """Samples of a message in every form it ever had, oldest first."""
    return [path.read_bytes() for path in sorted(Path(GOLDEN).glob(f"{kind}.v*.json"))]


def mangled(rng: random.Random, sample: bytes) -> bytes:
    """One in five is still as it was made, one in five no longer JSON, the others JSON of other values."""
    way = rng.randrange(10)
    if way < 2:
        return sample
    return _broken(rng, sample) if way < 4 else altered(rng, sample)


def altered(rng: random.Random, sample: bytes) -> bytes:
    """JSON of other values."""
    value = json.loads(sample)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        value = changed(rng, value)
    text = json.dumps(value)
    return text.replace('"\\ud7ff', '"\\ud800' if rng.random() < 0.5 else '"\\ud7ff').encode()


def changed(rng: random.Random, value: Any) -> Any:
    """A value in which one thing, at whatever depth, is something else."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        way = rng.randrange(12)
        if way == 0:
            return {each: inner for each, inner in value.items() if each != name}
        if way == 1:
            return value | {"a field of tomorrow": rng.choice(ABSURD)}
        return value | {name: changed(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return [*value[:place], changed(rng, value[place]), *value[place + 1 :]]
    alike = [each for each in ABSURD if type(each) is type(value)]
    return rng.choice(alike if alike and rng.random() < ALIKE else ABSURD)


def _broken(rng: random.Random, sample: bytes) -> bytes:
    way = rng.randrange(6)
    if way == 0:
        return rng.randbytes(rng.randrange(400))
    if way == 1:
        return sample[: rng.randrange(len(sample) + 1)]
    if way == 2:
        return rng.choice((b"[", b'{"a":')) * rng.choice((10, 1_000, 100_000))
    if way == 3:
        return sample + sample
    if way == 4:
        return b""
    body = bytearray(sample)
    for _ in range(rng.randrange(1, 20)):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return bytes(body)
