"""What the hostile site does, case by case; importing this fills its answer sheet."""

import asyncio
import gzip
import zlib

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard

from odradek.testing.hostile import (
    HTML,
    KEPT,
    MAX_BYTES,
    MIB,
    Expected,
    Talk,
    _bomb,
    answered,
    case,
    failed,
    raw,
)

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CUT = Expected("fetched", None, 200, MAX_BYTES, truncated=True)

# Codings: honest ones, wrong ones, and bombs
answered("gzip", KEPT, b"Content-Encoding: gzip", body=gzip.compress(HTML))
answered("x-gzip", KEPT, b"Content-Encoding: X-GZIP", body=gzip.compress(HTML))
answered("gzip-twice", KEPT, b"Content-Encoding: gzip, gzip", body=gzip.compress(gzip.compress(HTML)))
answered("gzip-members", KEPT, b"Content-Encoding: gzip", body=gzip.compress(HTML[:9]) + gzip.compress(HTML[9:]))
answered("gzip-padded", KEPT, b"Content-Encoding: gzip", body=gzip.compress(HTML) + bytes(100))
answered("deflate", KEPT, b"Content-Encoding: deflate", body=zlib.compress(HTML))
answered("deflate-raw", KEPT, b"Content-Encoding: deflate", body=zlib.compress(HTML, wbits=-15))
answered("br", KEPT, b"Content-Encoding: br", body=brotli.compress(HTML))
answered("zstd", KEPT, b"Content-Encoding: zstd", body=zstandard.ZstdCompressor().compress(HTML))
answered("identity", KEPT, b"Content-Encoding: identity")
answered("no-gzip-at-all", failed("decode", 200), b"Content-Encoding: gzip")
answered("gzip-cut-short", failed("decode", 200), b"Content-Encoding: gzip", body=gzip.compress(HTML * 50)[:40])
answered("unknown-coding", failed("decode", 200), b"Content-Encoding: snappy")
answered("codings-upon-codings", failed("decode", 200), b"Content-Encoding: " + b"gzip, " * 50)
for _coding in ("gzip", "deflate", "br", "zstd"):
    answered(f"bomb-{_coding}", failed("bomb", 200), b"Content-Encoding: " + _coding.encode(), body=_bomb(_coding))
answered("bomb-in-padding", failed("bomb", 200), b"Content-Encoding: gzip, br",
         body=brotli.compress(gzip.compress(HTML) + bytes(16 * MIB), quality=5))  # fmt: skip
answered("bomb-of-empty-members", failed("decode", 200), b"Content-Encoding: gzip, gzip",
         body=gzip.compress(gzip.compress(b"") * 20_000))  # fmt: skip
answered("bomb-in-a-bomb", failed("bomb", 200), b"Content-Encoding: gzip, gzip", body=gzip.compress(_bomb("gzip")))

# Lengths: wrong, absent, contradictory
raw("no-length", KEPT, OK, b"\r\n", HTML)
raw("too-short", failed("reset", 200), OK, b"Content-Length: 1000\r\n\r\n", HTML)
raw("too-long", failed("protocol"), OK, b"Content-Length: %d\r\n\r\n" % len(HTML), HTML, b"and more " * 100)
raw("negative-length", failed("protocol"), OK, b"Content-Length: -5\r\n\r\n", HTML)
raw("length-in-words", failed("protocol"), OK, b"Content-Length: many\r\n\r\n", HTML)
raw("two-lengths", failed("protocol"), OK, b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", HTML)
raw("endless-digits", failed("protocol"), OK, b"Content-Length: " + b"9" * 400 + b"\r\n\r\n", HTML)
answered("empty", Expected("fetched", None, 200, 0), body=b"")
raw("chunked", KEPT, OK, b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(HTML), HTML, b"\r\n0\r\n\r\n", then="keep")
raw("chunk-cut-short", failed("reset", 200), OK, b"Transfer-Encoding: chunked\r\n\r\n1000\r\n", HTML)
raw("chunk-size-in-words", failed("protocol"), OK, b"Transfer-Encoding: chunked\r\n\r\nbig\r\n", HTML)

# Media types and charsets
answered("picture", Expected("skipped", "content_type", 200), b"Content-Type: image/png", body=bytes(5 * MIB))
raw("no-type", KEPT, b"HTTP/1.1 200 OK\r\n\r\n", HTML)
raw("no-type-binary", Expected("skipped", "content_type", 200), b"HTTP/1.1 200 OK\r\n\r\n\x7fELF\0\0\0", bytes(9000))
answered("odd-charset", KEPT, b'Content-Type: TEXT/HTML ; Charset="klingon-8"')
answered("type-in-words", KEPT, b"Content-Type: nonsense")

# Statuses
raw("204", Expected("fetched", None, 204, 0), b"HTTP/1.1 204 No Content\r\n\r\n", then="keep")
raw("205", Expected("fetched", None, 205, 0), b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", then="keep")
answered("206", Expected("fetched", None, 206, len(HTML), truncated=True), status=b"206 Partial Content")
raw("304-unasked", failed("http_304", 304), b"HTTP/1.1 304 Not Modified\r\n\r\n", then="keep")
raw("103-and-100-first", KEPT, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", OK,
    b"Content-Length: %d\r\n\r\n" % len(HTML), HTML)  # fmt: skip
raw("101", failed("http_101", 101), b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
answered("300", failed("http_300", 300), b"Location: /other", status=b"300 Multiple Choices")
answered("404", failed("http_404", 404), status=b"404 Not Found")
answered("429", failed("http_429", 429), b"Retry-After: 7", status=b"429 Too Many Requests")
answered("503", failed("http_503", 503), status=b"503 Service Unavailable")
answered("999", failed("http_999", 999), status=b"999 Request Denied")
answered("404-coded-wrong", failed("http_404", 404), b"Content-Encoding: gzip", status=b"404 Not Found")
answered("404-of-5-MiB", failed("http_404", 404), body=bytes(5 * MIB), status=b"404 Not Found")
answered("challenge", failed("soft_blocked", 403), b"CF-Mitigated: challenge", status=b"403 Forbidden")
_CHALLENGE = b'<html><title>Just a moment...</title><script src="/cdn-cgi/challenge-platform/x"></script>'
answered("challenge-with-200", failed("soft_blocked", 200), body=_CHALLENGE)

# Heads
raw("bare-line-feeds", KEPT, OK.replace(b"\r", b""), b"Content-Length: %d\n\n" % len(HTML), HTML)
raw("garbage", failed("protocol"), b"\x16\x03\x01 SSH-2.0-OpenSSH\r\n\r\n")
raw("http-0.9", failed("protocol"), HTML, b"\r\n\r\n")
raw("http-1.0", KEPT, OK.replace(b"1.1", b"1.0"), b"\r\n", HTML)
raw("header-of-40-KiB", KEPT, OK, b"X-Long: ", b"x" * 40_000, b"\r\n\r\n", HTML)
raw("header-of-1-MiB", failed("protocol"), OK, b"X-Long: ", b"x" * MIB, b"\r\n\r\n", HTML)
raw("flood-of-headers", failed("protocol"), OK, *(b"X-%d: y\r\n" % n for n in range(20_000)), b"\r\n", HTML)
raw("zero-byte-in-header", failed("protocol"), OK, b"X-Zero: a\0b\r\n\r\n", HTML)
answered("high-bytes-in-header", KEPT, b"X-Name: caf\xc3\xa9 \xff")
raw("status-in-words", failed("protocol"), b"HTTP/1.1 fine OK\r\n\r\n", HTML)
raw("nothing", failed("reset"))
raw("half-a-head", failed("reset"), OK[:30])

# Hanging up
raw("reset-at-once", failed("reset"), then="reset")
raw("reset-in-mid-body", failed("reset", 200), OK, b"Content-Length: 100000\r\n\r\n", HTML, then="reset")

# Redirects
answered("loop", failed("redirect_loop", 302), b"Location: /loop", status=b"302 Found")
answered("onward", Expected("redirected", None, 301), b"Location: chain/3#part", status=b"301 Moved Permanently")
answered("to-another-scheme", Expected("redirected", None, 302), b"Location: mailto:x@y.example", status=b"302 Found")
answered("to-nowhere", failed("protocol", 302), b"Location: http://[1::/", status=b"302 Found")
answered("to-inside", Expected("redirected", None, 302), b"Location: http://inside.example/", status=b"302 Found")
answered("without-target", failed("http_302", 302), status=b"302 Found")


@case("cookie-wall", KEPT)
async def _cookie_wall(talk: Talk) -> None:
    if b"pass=yes" in talk.head:
        await talk.page()
    else:
        await talk.page(b"Location: /cookie-wall", b"Set-Cookie: pass=yes; Path=/; HttpOnly", status=b"302 Found")


# Time
@case("drip", failed("too_slow", 200))
async def _drip(talk: Talk) -> None:
    await talk.say(OK, b"Content-Length: 100000\r\n\r\n")
    while True:
        await talk.say(b"x")
        await asyncio.sleep(0.02)


@case("drip-of-a-head", failed("timeout_total"))
async def _drip_of_a_head(talk: Talk) -> None:
    await talk.say(OK)
    while True:
        await talk.say(b"X-Drip: x\r\n")
        await asyncio.sleep(0.1)


@case("silence", failed("timeout_read"))
async def _silence(_: Talk) -> None:
    await asyncio.sleep(60)


@case("silence-in-mid-body", failed("timeout_read", 200))
async def _silence_in_mid_body(talk: Talk) -> None:
    await talk.say(OK, b"Content-Length: 100000\r\n\r\n", HTML)
    await asyncio.sleep(60)


@case("continue-without-end", failed("timeout_total"))
async def _continue_without_end(talk: Talk) -> None:
    while True:
        await talk.say(b"HTTP/1.1 100 Continue\r\n\r\n")
        await asyncio.sleep(0.01)


# Size
@case("100-MiB", CUT)
async def _hundred(talk: Talk) -> None:
    await talk.say(OK, b"Content-Length: %d\r\n\r\n" % (100 * MIB))
    for _ in range(100):
        await talk.say(b"<p>" + b"x" * (MIB - 3))


@case("without-end", CUT)
async def _without_end(talk: Talk) -> None:
    await talk.say(OK, b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        await talk.say(b"10000\r\n" + b"x" * 65536 + b"\r\n")


@case("padding-without-end", Expected("fetched", None, 200, len(HTML), truncated=True))
async def _padding_without_end(talk: Talk) -> None:
    await talk.say(OK, b"Content-Encoding: gzip\r\n\r\n", gzip.compress(HTML))
    while True:
        await talk.say(bytes(65536))


@case("gzip-head-without-end", Expected("fetched", None, 200, 0, truncated=True))
async def _gzip_head_without_end(talk: Talk) -> None:
    """The file name in the head of a gzip file has no bounds (RFC 1952 section 2.3)."""
    await talk.say(OK, b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\0\0\0\0\0\xff")
    while True:
        await talk.say(b"x" * 65536)


@case("picture-without-end", Expected("skipped", "content_type", 200))
async def _picture_without_end(talk: Talk) -> None:
    await talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n")
    while True:
        await talk.say(bytes(65536))


@case("closes-kept-connection", KEPT)
async def _closes_kept_connection(talk: Talk) -> None:
    """Promises to keep the connection and hangs up."""
    await talk.page(b"Connection: keep-alive")
    await talk.close()
