"""Content codings undone piece by piece, never more at once than is asked for.

A few bytes can stand for gigabytes, so no decoder here is ever let loose on a whole piece: output is bounded per
step, and the ratio of what came out to what went in is watched.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard

from odradek_fetcher.core.answers import Limits

STEP_BYTES = 256 * 1024
"""Most that a decoder gives in one step; zstd knows no such bound and gets its input in slices instead."""
_ZSTD_SLICE = 256
"""A block of zstd is 4 bytes at least and 128 KiB decoded at most: 8 MiB for one slice."""
_ZSTD_WINDOW = 8 * 1024 * 1024
"""RFC 9659: a larger window may be refused."""
_INPUT_SLICE = 4096
"""So that the ratio is judged before much has been decoded."""
MAX_CODINGS = 3
MAX_MEMBERS = 10_000
"""Of a gzip file, or frames of zstd; empty ones cost much time and give nothing."""


class DecodeFailure(Exception):  # noqa: N818  (the word of the closed list)
    """The body is not what its content-encoding says."""


class Bomb(Exception):  # noqa: N818  (as above)
    """The body grows beyond any honest ratio."""


class _Step(Protocol):
    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What these bytes stand for, in bounded pieces."""

    def whole(self) -> bool:
        """True when the coded stream has come to its end."""


class _Members:
    """Counts what a coded stream consists of."""

    def __init__(self) -> None:
        self._members = 1

    def _another(self) -> None:
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise DecodeFailure(f"the body consists of more than {MAX_MEMBERS} coded streams")


class _Zlib(_Members):
    def __init__(self, window_bits: int) -> None:
        super().__init__()
        self._window_bits = window_bits
        self._inner = zlib.decompressobj(window_bits)
        self._begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inner.eof:
                if not data.startswith(b"\x1f\x8b"):
                    return  # padding after the last member is ignored, as browsers do
                self._another()
                self._inner = zlib.decompressobj(self._window_bits)
            self._begun = True
            yield self._inner.decompress(data, STEP_BYTES)
            data = self._inner.unused_data if self._inner.eof else self._inner.unconsumed_tail

    def whole(self) -> bool:
        return self._inner.eof or not self._begun


class _Deflate(_Zlib):
    """RFC 9110 wants zlib's wrapper, and some servers leave it out."""

    def __init__(self) -> None:
        super().__init__(zlib.MAX_WBITS)
        self._head = b""
        self._settled = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if not self._settled:
            self._head += data
            if len(self._head) < 2:  # noqa: PLR2004  (zlib's header)
                return
            data, self._settled = self._head, True
            if data[0] & 0x0F != 8 or int.from_bytes(data[:2], "big") % 31:  # noqa: PLR2004  (RFC 1950 section 2.2)
                self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
        yield from super().pieces(data)


class _Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()
        self._begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._inner.is_finished():
            return  # what follows the stream is ignored
        self._begun = True
        yield self._inner.process(data, output_buffer_limit=STEP_BYTES)
        while not self._inner.is_finished() and not self._inner.can_accept_more_data():
            yield self._inner.process(b"", output_buffer_limit=STEP_BYTES)

    def whole(self) -> bool:
        return not self._begun or bool(self._inner.is_finished())


class _Zstd(_Members):
    def __init__(self) -> None:
        super().__init__()
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._inner = self._decompressor.decompressobj()
        self._begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        self._begun = True
        for start in range(0, len(data), _ZSTD_SLICE):
            part = data[start : start + _ZSTD_SLICE]
            while part:
                if self._inner.eof:
                    self._another()
                    self._inner = self._decompressor.decompressobj()
                yield self._inner.decompress(part)
                part = self._inner.unused_data if self._inner.eof else b""

    def whole(self) -> bool:
        return not self._begun or self._inner.eof


_STEPS: dict[str, Callable[[], _Step]] = {
    "gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "x-gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
ACCEPT_ENCODING = "gzip, deflate, br, zstd"


class Decoder:
    """Undoes the codings of one body.

    Raises:
        DecodeFailure: an unknown coding, too many of them, or bytes that are none of what was announced.
        Bomb: the ratio of decoded to received bytes is above the limit, be it after the first of several codings.
    """

    def __init__(self, content_encoding: str | None, limits: Limits) -> None:
        names = [name.strip().lower() for name in (content_encoding or "").split(",")]
        codings = [name for name in names if name and name != "identity"]
        unknown = [name for name in codings if name not in _STEPS]
        if unknown or len(codings) > MAX_CODINGS:
            raise DecodeFailure(f"the content encoding {content_encoding!r} is not supported")
        self._steps = [_STEPS[name]() for name in reversed(codings)]
        self._limits = limits
        self._made_bytes = [0] * len(self._steps)
        """By each step: what one gives and the next one swallows is work too."""
        self.received_bytes = 0

    @property
    def decoded_bytes(self) -> int:
        """What has come out so far."""
        return self._made_bytes[-1] if self._steps else self.received_bytes

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What these bytes stand for, in pieces that the caller may stop taking at any time."""
        if not self._steps:
            self.received_bytes += len(data)
            yield data
            return
        try:
            for start in range(0, len(data), _INPUT_SLICE):
                part = data[start : start + _INPUT_SLICE]
                self.received_bytes += len(part)
                yield from self._through(0, part)
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise DecodeFailure(f"the body is not what its content encoding says: {error}") from error

    def finish(self) -> None:
        """The body has ended; a coded stream that has not is a failure."""
        if not all(step.whole() for step in self._steps):
            raise DecodeFailure("the body ends in the middle of its coded stream")

    def _through(self, number: int, data: bytes) -> Iterator[bytes]:
        if number == len(self._steps):
            yield data
            return
        for piece in self._steps[number].pieces(data):
            if piece:
                self._made_bytes[number] += len(piece)
                self._watch(self._made_bytes[number])
                yield from self._through(number + 1, piece)

    def _watch(self, made_bytes: int) -> None:
        limits = self._limits
        if made_bytes > max(limits.ratio_from_bytes, limits.ratio * self.received_bytes):
            raise Bomb(f"{self.received_bytes} bytes received stand for more than {made_bytes}")


def unpacked(body: bytes, max_bytes: int, limits: Limits) -> tuple[bytes, bool] | str:
    """The content of a body that is a gzip file, and whether it was cut at `max_bytes`; other bodies as they are.

    A string is the sentence of a failure; that of a bomb is `bomb`. A file that ends too early gives what is there.
    """
    if not body.startswith(b"\x1f\x8b"):
        return body, False
    pieces: list[bytes] = []
    room = max_bytes
    try:
        for piece in Decoder("gzip", limits).pieces(body):
            pieces.append(piece[:room])
            if len(piece) > room:
                return b"".join(pieces), True
            room -= len(piece)
    except Bomb:
        return "bomb"
    except DecodeFailure as error:
        return str(error)
    return b"".join(pieces), False
