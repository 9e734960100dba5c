"""TLS, HTTP/2 and proxies that work, and how they fail."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import pytest
from tests.component.fetcher.harness import a_fetching, everywhere_here

from odradek.testing import hostile_cases  # noqa: F401  (fills the site)
from odradek.testing.hostile import HTML, HostileSite
from odradek_fetcher.core.answers import Limits
from odradek_fetcher.core.proxies import FAILURES_TO_REST

MOST_STREAMS = 100
"""That h2 lets a client have open at once."""
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of good.example in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate of these tests")
    folder = tmp_path_factory.mktemp("tls")
    names = "subjectAltName=DNS:good.example"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=good.example", "-addext", names, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    both = folder / "both.pem"
    both.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return both


@pytest.fixture(scope="session")
def expired(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of good.example whose time was over long ago."""
    folder = tmp_path_factory.mktemp("expired")
    (folder / "index").touch()
    (folder / "serial").write_text("01")
    (folder / "ca.cnf").write_text(
        f"[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/index\nserial={folder}/serial\nnew_certs_dir={folder}\n"
        "default_md=sha256\npolicy=any\nx509_extensions=names\n[any]\ncommonName=supplied\n"
        "[names]\nsubjectAltName=DNS:good.example\n"
    )
    run = partial(subprocess.run, check=True, capture_output=True)
    run(["openssl", "req", "-new", "-key", certificate, "-subj", "/CN=good.example", "-out", folder / "asked.pem"])
    run(
        ["openssl", "ca", "-batch", "-selfsign", "-notext", "-config", folder / "ca.cnf", "-keyfile", certificate,
         "-in", folder / "asked.pem", "-out", folder / "cert.pem", "-startdate", "20200101000000Z",
         "-enddate", "20200201000000Z"]
    )  # fmt: skip
    both = folder / "both.pem"
    both.write_bytes(certificate.read_bytes().partition(b"-----BEGIN CERT")[0] + (folder / "cert.pem").read_bytes())
    return both


@asynccontextmanager
async def a_server(serve: Serve, certificate: Path | None = None, alpn: str = "http/1.1") -> AsyncIterator[int]:
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        context.set_alpn_protocols([alpn])
    tasks: set[asyncio.Task[None]] = set()

    async def serve_and_hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve_and_hang_up, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(HTML), HTML))
        await writer.drain()


async def page_by_http2(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    while True:
        writer.write(connection.data_to_send())
        await writer.drain()
        data = await reader.read(65536)
        if not data:
            return
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived) and event.stream_id is not None:
                connection.send_headers(event.stream_id, [(":status", "200"), ("content-type", "text/html")])
                connection.send_data(event.stream_id, HTML, end_stream=True)


async def picture_by_http2(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Large pictures, of which nobody reads more than the head; `/page` is a page."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    try:
        while True:
            writer.write(connection.data_to_send())
            await writer.drain()
            data = await reader.read(65536)
            if not data:
                return
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived) and event.stream_id is not None:
                    wanted = (b":path", b"/page") in [tuple(each) for each in event.headers or ()]
                    kind = "text/html" if wanted else "image/png"
                    connection.send_headers(event.stream_id, [(":status", "200"), ("content-type", kind)])
                    connection.send_data(event.stream_id, HTML if wanted else bytes(16_000), end_stream=wanted)
    finally:
        writer.transport.abort()


async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(100)
    writer.write(b"HTTP/1.1 400 This is no TLS\r\n\r\n")
    await writer.drain()


async def outdated(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What a server without TLS 1.2 answers: the fatal alert `protocol_version` (RFC 5246 section 7.2.2)."""
    await reader.read(100)
    writer.write(b"\x15\x03\x01\x00\x02\x02\x46")
    await writer.drain()


async def silence(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(100)


@pytest.mark.parametrize(("http2", "alpn", "serve"), [(False, "http/1.1", page), (True, "http/1.1", page),
                                                      (True, "h2", page_by_http2)])  # fmt: skip
async def test_a_page_comes_over_verified_tls(certificate: Path, http2: bool, alpn: str, serve: Serve) -> None:  # noqa: FBT001  (a case)
    async with a_server(serve, certificate, alpn) as port, a_fetching(everywhere_here, authority=certificate) as fetch:
        results = [await fetch(f"https://good.example:{port}/", {"http2": http2}) for _ in range(3)]
    assert [result.body for result in results] == [HTML] * 3
    protocol = "HTTP/2" if alpn == "h2" else "HTTP/1.1"
    assert {(r.page.protocol, r.page.tls_verified, r.page.remote_address) for r in results} == {
        (protocol, True, "127.0.0.1")
    }
    first, *later = [result.page.timings for result in (results if alpn == "h2" or not http2 else results[1:])]
    steps = (first.dns_ms, first.connect_ms, first.tls_ms, first.first_byte_ms, first.total_ms)
    assert all(step is not None and step > 0 for step in steps)
    assert sum(step or 0 for step in steps[:3]) <= (first.first_byte_ms or 0) <= first.total_ms
    assert {(each.dns_ms, each.connect_ms, each.tls_ms) for each in later} == {(None, None, None)}


async def test_pictures_that_nobody_reads_do_not_use_up_the_streams_of_http2(certificate: Path) -> None:
    async with (
        a_server(picture_by_http2, certificate, "h2") as port,
        a_fetching(everywhere_here, authority=certificate) as fetch,
    ):
        told = [(await fetch(f"https://good.example:{port}/{number}")).page for number in range(MOST_STREAMS + 2)]
        together = await asyncio.gather(*(fetch(f"https://good.example:{port}/{number}") for number in range(8)))
        told += [result.page for result in together]
        page = await fetch(f"https://good.example:{port}/page")
    assert {(each.outcome, each.reason) for each in told} == {("skipped", "content_type")}
    assert page.body == HTML


async def test_a_site_that_was_offered_http2_in_vain_is_asked_over_cheaper_connections(certificate: Path) -> None:
    heads: list[bytes] = []

    async def noting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(b"new connection")
        await page(reader, writer)

    async with a_server(noting, certificate) as port, a_fetching(everywhere_here, authority=certificate) as fetch:
        results = [await fetch(f"https://good.example:{port}/{number}") for number in range(6)]
    assert [result.body for result in results] == [HTML] * 6
    assert len(heads) == 2, "one of httpcore, which offers HTTP/2, and one of aiohttp, used five times"


@pytest.mark.parametrize("http2", [False, True])
async def test_what_went_well_before_tls_failed_is_told(certificate: Path, http2: bool) -> None:  # noqa: FBT001  (a case)
    async with a_server(page, certificate) as port, a_fetching(everywhere_here) as fetch:
        told = (await fetch(f"https://good.example:{port}/", {"http2": http2})).page
    assert told.timings.connect_ms is not None
    assert (told.reason, told.timings.tls_ms, told.timings.first_byte_ms) == ("tls", None, None)


@pytest.mark.parametrize("http2", [False, True])
async def test_a_certificate_that_does_not_hold_fails_the_fetch_for_good(certificate: Path, http2: bool) -> None:  # noqa: FBT001  (a case)
    async with a_server(page, certificate) as port:
        async with a_fetching(everywhere_here) as fetch:
            unknown = await fetch(f"https://good.example:{port}/", {"http2": http2})
        async with a_fetching(everywhere_here, authority=certificate) as fetch:
            other_name = await fetch(f"https://other.example:{port}/", {"http2": http2})
    for result in (unknown, other_name):
        assert (result.page.outcome, result.page.reason, result.page.retry_in_ms) == ("failed", "tls", None)


@pytest.mark.parametrize("http2", [False, True])
async def test_a_certificate_whose_time_is_over_fails_the_fetch_for_good(expired: Path, http2: bool) -> None:  # noqa: FBT001  (a case)
    async with a_server(page, expired) as port, a_fetching(everywhere_here, authority=expired) as fetch:
        told = (await fetch(f"https://good.example:{port}/", {"http2": http2})).page
    assert (told.reason, told.retry_in_ms) == ("tls", None)
    assert "expired" in (told.error or "")


@pytest.mark.parametrize("http2", [False, True])
async def test_a_site_that_knows_only_outdated_tls_fails_the_fetch_for_good(http2: bool) -> None:  # noqa: FBT001  (a case)
    async with a_server(outdated) as port, a_fetching(everywhere_here) as fetch:
        told = (await fetch(f"https://good.example:{port}/", {"http2": http2})).page
    assert (told.reason, told.retry_in_ms) == ("tls", None), told.error


@pytest.mark.parametrize("http2", [False, True])
async def test_a_handshake_that_does_not_go_on_is_given_up(http2: bool) -> None:  # noqa: FBT001  (a case)
    async with a_server(silence) as port, a_fetching(everywhere_here, limits=Limits(connect_s=0.3)) as fetch:
        told = (await fetch(f"https://good.example:{port}/", {"http2": http2})).page
    assert (told.reason, told.timings.tls_ms) == ("timeout_connect", None), told.error


@pytest.mark.parametrize("http2", [False, True])
async def test_a_job_may_do_without_verification_and_that_is_recorded(certificate: Path, http2: bool) -> None:  # noqa: FBT001  (a case)
    async with a_server(page, certificate) as port, a_fetching(everywhere_here) as fetch:
        result = await fetch(f"https://other.example:{port}/", {"http2": http2, "verify_tls": False})
    assert (result.body, result.page.tls_verified) == (HTML, False)


@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize(("serve", "reasons"), [(nonsense, {"tls"}), (hang_up, {"reset", "connect", "tls"})])
async def test_a_port_that_speaks_no_tls_fails(serve: Serve, reasons: set[str], http2: bool) -> None:  # noqa: FBT001  (a case)
    async with a_server(serve) as port, a_fetching(everywhere_here) as fetch:
        result = await fetch(f"https://good.example:{port}/", {"http2": http2})
    assert result.page.outcome == "failed"
    assert result.page.reason in reasons, result.page.error


async def through(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes both ways."""
    there, back = await asyncio.open_connection("127.0.0.1", port)

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
        sink.close()

    try:
        await asyncio.gather(carry(reader, back), carry(there, writer))
    finally:
        back.transport.abort()


def socks(asked: list[bytes], port: int) -> Serve:
    """A SOCKS5 proxy (RFC 1928) without authentication that notes what it is asked for, and always leads to `port`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2)
        await reader.readexactly(1)
        writer.write(b"\x05\x00")
        kind = (await reader.readexactly(4))[3]
        size = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
        asked.append(await reader.readexactly(size))
        await reader.readexactly(2)
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
        await through(port, reader, writer)

    return serve


def http_proxy(asked: list[bytes], port: int) -> Serve:
    """A proxy that notes the request line; CONNECT is carried through to `port`, anything else answered."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            asked.append(head.partition(b"\r\n")[0])
            if head.startswith(b"CONNECT"):
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                await through(port, reader, writer)
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nvia")
            await writer.drain()

    return serve


async def test_socks_is_told_the_checked_address_and_tls_still_verifies_the_name(certificate: Path) -> None:
    asked: list[bytes] = []
    async with (
        a_server(page, certificate) as port,
        a_server(socks(asked, port)) as proxy,
        a_fetching(everywhere_here, authority=certificate) as fetch,
    ):
        proxies = [f"socks5://127.0.0.1:{proxy}"]
        good = await fetch("https://good.example/", {"proxies": proxies})
        other = await fetch("https://other.example/", {"proxies": proxies})
    assert (good.body, other.page.reason) == (HTML, "tls")
    assert asked == [bytes([127, 0, 0, 1])] * 2


async def test_a_socks_proxy_that_resolves_itself_is_told_the_name() -> None:
    asked: list[bytes] = []
    async with HostileSite() as site, a_server(socks(asked, site.port)) as proxy, a_fetching(everywhere_here) as fetch:
        result = await fetch("http://good.example/no-length", {"proxies": [f"socks5h://127.0.0.1:{proxy}"]})
    assert (result.body, asked) == (HTML, [b"good.example"])
    assert b"Host: good.example\r\n" in site.heads[0]


async def test_an_http_proxy_forwards_and_tunnels(certificate: Path) -> None:
    asked: list[bytes] = []
    async with (
        a_server(page, certificate) as port,
        a_server(http_proxy(asked, port)) as proxy,
        a_fetching(everywhere_here, authority=certificate) as fetch,
    ):
        proxies = [f"http://127.0.0.1:{proxy}"]
        plain = await fetch("http://good.example/a?b", {"proxies": proxies})
        tunnelled = await fetch("https://good.example/", {"proxies": proxies})
    assert (plain.body, tunnelled.body) == (b"via", HTML)
    assert asked == [b"GET http://good.example/a?b HTTP/1.1", b"CONNECT good.example:443 HTTP/1.1"]


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_a_proxy_that_is_away_is_the_proxys_failure(kind: str) -> None:
    async with a_fetching(everywhere_here) as fetch:
        result = await fetch("http://good.example/", {"proxies": [f"{kind}://127.0.0.1:1"]})
    assert (result.page.outcome, result.page.reason, result.page.retry_in_ms) == ("failed", "proxy", 5000)


async def test_a_proxy_that_wants_credentials_is_the_proxys_failure() -> None:
    async def locked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with a_server(locked) as port, a_fetching(everywhere_here) as fetch:
        proxies = {"proxies": [f"http://127.0.0.1:{port}"]}
        plain = (await fetch("http://good.example/", proxies)).page
        tunnelled = (await fetch("https://good.example/", proxies)).page
    assert (plain.reason, plain.status, tunnelled.reason, tunnelled.status) == ("proxy", 407, "proxy", None)


async def test_a_proxy_that_talks_nonsense_is_the_proxys_failure() -> None:
    async with a_server(nonsense) as port, a_fetching(everywhere_here) as fetch:
        by_socks = await fetch("http://good.example/", {"proxies": [f"socks5://127.0.0.1:{port}"]})
        by_tunnel = await fetch("https://good.example/", {"proxies": [f"http://127.0.0.1:{port}"]})
    assert (by_socks.page.reason, by_tunnel.page.reason) == ("proxy", "proxy")


async def test_a_proxy_that_fails_rests_while_the_others_go_on() -> None:
    asked: list[bytes] = []
    async with a_server(http_proxy(asked, 1)) as good, a_fetching(everywhere_here) as fetch:
        proxies = ["http://127.0.0.1:1", f"http://127.0.0.1:{good}"]
        pages = [(await fetch("http://good.example/", {"proxies": proxies}, attempt=n)).page for n in range(12)]
    told = [page.reason for page in pages]
    assert sorted(told[:2], key=str) == [None, "proxy"]
    assert told == told[:2] * FAILURES_TO_REST + [None] * (12 - 2 * FAILURES_TO_REST)
    assert len(asked) == 12 - FAILURES_TO_REST
