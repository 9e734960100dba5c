"""Bytes of a streamed body into numbered seeds: text (one URL a line), NDJSON, or CSV."""

import csv
from collections.abc import Iterator

import msgspec

from odradek_api.core.seeds import URL_SHOWN, BadLine, SeedLine, from_value

MAX_LINE_BYTES = 64 * 1024
NDJSON = "application/x-ndjson"
CSV = "text/csv"

Numbered = tuple[int, SeedLine | BadLine]


class LineReader:
    """Takes the body in pieces of any size; lines count from 1, empty ones and comments (#) are passed over.

    CSV has the URL in its first column; or a header row that names `url`, and perhaps `priority` and `depth`. A row is
    one line.
    """

    def __init__(self, content_type: str) -> None:
        self._kind = content_type
        self._rest = b""
        self._number = 0
        self._cut: str | None = None
        """Beginning of a line that is longer than may be, while its end is awaited."""
        self._columns: dict[str, int] | None = None

    def feed(self, piece: bytes) -> Iterator[Numbered]:
        """Seeds of the lines that end in this piece."""
        *whole, rest = piece.split(b"\n")
        if whole:
            whole[0] = self._rest + whole[0]
            self._rest = rest
        else:
            self._rest += rest
        for line in whole:
            yield from self._line(line)
        if len(self._rest) > MAX_LINE_BYTES:
            if self._cut is None:
                self._cut = self._rest[:URL_SHOWN].decode(errors="replace")
            self._rest = b""

    def end(self) -> Iterator[Numbered]:
        """The seed of a last line that does not end."""
        if self._rest or self._cut is not None:
            yield from self._line(self._rest)
        self._rest = b""

    def _line(self, line: bytes) -> Iterator[Numbered]:
        self._number += 1
        if self._cut is not None or len(line) > MAX_LINE_BYTES:
            yield self._number, BadLine(self._cut or line[:URL_SHOWN].decode(errors="replace"), "too_long")
            self._cut = None
            return
        try:
            text = line.decode().strip().lstrip("\ufeff")
        except UnicodeDecodeError:
            yield self._number, BadLine(line[:URL_SHOWN].decode(errors="replace"))
            return
        if not text or text.startswith("#"):
            return
        seed = self._seed(text)
        if seed is not None:
            yield self._number, seed

    def _seed(self, text: str) -> SeedLine | BadLine | None:
        if self._kind == NDJSON:
            try:
                return from_value(msgspec.json.decode(text))
            except (msgspec.DecodeError, RecursionError):
                return BadLine(text[:URL_SHOWN])
        return self._row(text) if self._kind == CSV else SeedLine(text)

    def _row(self, text: str) -> SeedLine | BadLine | None:
        try:
            row = [cell.strip() for cell in next(csv.reader([text], strict=True))]
        except csv.Error:
            return BadLine(text[:URL_SHOWN])
        if self._columns is None:
            names = [cell.lower() for cell in row]
            header = "url" in names
            self._columns = {name: place for place, name in enumerate(names)} if header else {"url": 0}
            if header:
                return None
        named = {name: row[place] for name, place in self._columns.items() if place < len(row) and row[place]}
        values = {name: named[name] for name in ("url", "priority", "depth") if name in named}
        try:
            return msgspec.convert(values, SeedLine, strict=False)
        except msgspec.ValidationError:
            return BadLine(text[:URL_SHOWN])
