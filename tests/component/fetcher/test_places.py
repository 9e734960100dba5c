"""Odd hosts and ports: names that DNS would not mind, addresses in brackets, ports where nobody speaks HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.component.fetcher.harness import FIRST_TRY, LATER_TRY, a_fetching, everywhere_here

from odradek.testing.hostile import HTML, HostileSite, Talk


async def _page(talk: Talk) -> None:
    await talk.page()


@pytest.fixture
async def site() -> AsyncIterator[HostileSite]:
    async with HostileSite({"page": _page}) as site:
        yield site


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
@pytest.mark.parametrize(
    ("host", "sent"),
    [
        ("shop_1.books.example", "shop_1.books.example"), ("-dash-.example", "-dash-.example"),
        ("bücher.example", "xn--bcher-kva.example"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("books.example.", "books.example."), ("BOOKS.example", "books.example"), ("1.2.3.four", "1.2.3.four"),
        (f"{'a' * 63}.example", f"{'a' * 63}.example"), ("books。example", "books.example"), ("intranet", "intranet"),
    ],
)  # fmt: skip
async def test_a_host_of_any_shape_is_asked_by_its_name(site: HostileSite, host: str, sent: str, attempt: int) -> None:
    async with a_fetching(everywhere_here) as fetch:
        result = await fetch(f"http://{host}:{site.port}/page", attempt=attempt)
    assert result.body == HTML, result.page.error
    assert f"\r\nhost: {sent}:{site.port}\r\n".encode() in site.heads[0].lower()


@asynccontextmanager
async def a_site_on_ipv6() -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + HTML)
        writer.close()

    try:
        server = await asyncio.start_server(serve, "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
async def test_an_address_in_brackets_is_asked(attempt: int) -> None:
    async with a_site_on_ipv6() as port, a_fetching() as fetch:
        result = await fetch(f"http://[::1]:{port}/", attempt=attempt)
    assert (result.body, result.page.remote_address) == (HTML, "::1")


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
@pytest.mark.parametrize("port", [0, 1, 65535])
async def test_a_port_where_nobody_listens_is_no_connection(port: int, attempt: int) -> None:
    async with a_fetching() as fetch:
        page = (await fetch(f"http://127.0.0.1:{port}/", attempt=attempt)).page
    assert (page.outcome, page.reason) == ("failed", "connect"), page.error


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
@pytest.mark.parametrize(
    "greeting", [b"220 mail.example ESMTP ready\r\n", b"SSH-2.0-OpenSSH_9.6\r\n", b"-ERR wrong\r\n", bytes(64)]
)
async def test_a_port_that_speaks_something_else_is_a_failure(greeting: bytes, attempt: int) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server, a_fetching() as fetch:
        page = (await fetch(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", attempt=attempt)).page
    assert page.outcome == "failed"
    assert page.reason in ("protocol", "reset"), page.error


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
async def test_the_second_address_of_a_name_is_tried_when_the_first_is_silent(site: HostileSite, attempt: int) -> None:
    async def two(_: str) -> tuple[str, ...]:
        return ("127.0.0.9", "127.0.0.1")

    with socket.socket() as taken:
        taken.bind(("127.0.0.9", site.port))  # bound and not listening: refused
        async with a_fetching(two) as fetch:
            result = await fetch(f"http://two.example:{site.port}/page", attempt=attempt)
    assert (result.body, result.page.remote_address) == (HTML, "127.0.0.1")
