"""Bodies come out whole, whatever pieces they come in, and never without bounds."""

import gzip
import zlib
from collections import deque
from functools import partial

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from odradek_fetcher.core.answers import Limits
from odradek_fetcher.core.decoding import MAX_MEMBERS, Bomb, DecodeFailure, Decoder, unpacked

LIMITS = Limits()
CODINGS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": partial(brotli.compress, quality=1),
    "zstd": zstandard.ZstdCompressor().compress,
}
LARGEST_PIECE = 9 * 1024 * 1024


def decoded(coding: str, data: bytes, cuts: int = 1) -> bytes:
    decoder = Decoder(coding, LIMITS)
    size = max(1, len(data) // cuts)
    pieces = [piece for at in range(0, len(data), size) for piece in decoder.pieces(data[at : at + size])]
    decoder.finish()
    assert decoder.decoded_bytes == sum(map(len, pieces))
    return b"".join(pieces)


@pytest.mark.parametrize("coding", CODINGS)
@given(body=st.binary(max_size=2000), cuts=st.integers(1, 50))
def test_a_coded_body_comes_out_as_it_went_in(coding: str, body: bytes, cuts: int) -> None:
    assert decoded(coding, CODINGS[coding](body), cuts) == body


@given(body=st.binary(max_size=2000), cuts=st.integers(1, 50))
def test_deflate_without_its_wrapper_is_understood(body: bytes, cuts: int) -> None:
    assert decoded("deflate", zlib.compress(body, wbits=-15), cuts) == body


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_goes_off_in_small_pieces(coding: str) -> None:
    bomb = CODINGS[coding](bytes(16 * 1024 * 1024))
    decoder = Decoder(coding, LIMITS)
    with pytest.raises(Bomb):
        deque(decoder.pieces(bomb), maxlen=0)
    assert decoder.decoded_bytes < LARGEST_PIECE


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_that_the_next_coding_swallows_goes_off_too(coding: str) -> None:
    page_and_padding = gzip.compress(b"<p>") + bytes(16 * 1024 * 1024)
    with pytest.raises(Bomb):
        decoded(f"gzip, {coding}", CODINGS[coding](page_and_padding))


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_streams_after_streams_that_give_nothing_are_a_failure(coding: str) -> None:
    empty = CODINGS[coding](b"")
    assert decoded(coding, empty * 1000 + CODINGS[coding](b"<p>")) == b"<p>"
    with pytest.raises(DecodeFailure, match="10000"):
        decoded(coding, empty * (MAX_MEMBERS + 1))
    if coding == "gzip":
        assert isinstance(unpacked(empty * (MAX_MEMBERS + 1), 100, LIMITS), str)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_that_ends_too_early_is_a_failure(coding: str) -> None:
    whole = CODINGS[coding](bytes(range(256)) * 20)
    with pytest.raises(DecodeFailure):
        decoded(coding, whole[:-3])


@pytest.mark.parametrize("coding", CODINGS)
def test_bytes_that_are_no_such_coding_are_a_failure(coding: str) -> None:
    with pytest.raises(DecodeFailure):
        decoded(coding, b"<!doctype html><title>plain</title>" * 20)


@pytest.mark.parametrize("coding", ["snappy", "gzip, gzip, gzip, gzip", "gzip;q=1"])
def test_codings_that_nobody_asked_for_are_a_failure(coding: str) -> None:
    with pytest.raises(DecodeFailure):
        Decoder(coding, LIMITS)


@pytest.mark.parametrize("coding", [None, "", "identity", "Identity"])
def test_no_coding_is_no_work(coding: str | None) -> None:
    assert list(Decoder(coding, LIMITS).pieces(b"as it is")) == [b"as it is"]


def test_a_sitemap_that_is_a_gzip_file_is_unpacked_within_bounds() -> None:
    assert unpacked(gzip.compress(b"<urlset/>"), 100, LIMITS) == (b"<urlset/>", False)
    assert unpacked(gzip.compress(b"<urlset/>"), 4, LIMITS) == (b"<url", True)
    assert unpacked(b"<urlset/>", 4, LIMITS) == (b"<urlset/>", False)
    assert unpacked(gzip.compress(bytes(16 * 1024 * 1024)), 100 * 1024 * 1024, LIMITS) == "bomb"
    assert isinstance(unpacked(b"\x1f\x8bnonsense", 100, LIMITS), str)
