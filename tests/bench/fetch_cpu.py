"""CPU of the fetcher for one request, by what carries it: plain or TLS, HTTP/1.1 or HTTP/2, each in one run.

    python -m tests.bench.fetch_cpu --requests 1000

Only the fetcher's process is measured; pages of 12 KB come from another one, over kept connections to five names.
"""

import argparse
import asyncio
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h2.config
import h2.connection
import h2.events
from msgspec.structs import replace

from odradek.resolve import Guard, nothing_refused
from odradek_fetcher.core.answers import Deadline, Limits, Order
from odradek_fetcher.http import HttpFetch
from odradek_fetcher.tls import Contexts
from odradek_fetcher.transports import Transports

BODY = b"<!doctype html><title>Page</title>" + b"<p>a page of twelve kilobytes</p>" * 360
OPEN = 16
HOSTS = 5


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    found = writer.get_extra_info("ssl_object")
    try:
        if found is not None and found.selected_alpn_protocol() == "h2":
            await _http2(reader, writer)
        while True:
            await reader.readuntil(b"\r\n\r\n")
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(BODY)
            writer.write(head + BODY)
    except (OSError, asyncio.IncompleteReadError):
        writer.close()


async def _http2(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    while True:
        writer.write(connection.data_to_send())
        data = await reader.readexactly(1) + await reader.read(65536) if not reader.at_eof() else b""
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived) and event.stream_id is not None:
                connection.send_headers(event.stream_id, [(":status", "200"), ("content-type", "text/html")])
                connection.send_data(event.stream_id, BODY, end_stream=True)


async def _serve(folder: Path) -> None:
    """Three ports: plain, TLS with HTTP/1.1 alone, TLS with HTTP/2."""
    ports = []
    for protocols in ((), ("http/1.1",), ("h2", "http/1.1")):
        context = None
        if protocols:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
            context.set_alpn_protocols(protocols)
        server = await asyncio.start_server(_answer, "127.0.0.1", 0, ssl=context)
        ports.append(server.sockets[0].getsockname()[1])
    print(*ports, flush=True)  # noqa: T201  (the parent reads them)
    await asyncio.Event().wait()


async def _everywhere_here(_: str) -> tuple[str, ...]:
    return ("127.0.0.1",)


async def _measure(name: str, order: Order, requests: int) -> None:
    guard = Guard(_everywhere_here, refuses=nothing_refused)
    limits = Limits()
    transports = Transports(guard, Contexts(), limits)
    fetch = HttpFetch(transports, guard, limits)
    left = iter(range(requests))

    async def work() -> None:
        for number in left:
            host = f"host{number % HOSTS}.example"
            deadline = Deadline(30, asyncio.get_running_loop().time() + 30)
            asked = replace(order, host=host, url=order.url.replace("HOST", host))
            answer = await fetch.fetch(asked, deadline)
            if answer.body != BODY:
                raise RuntimeError(f"{name}: {answer.failure or answer.status}")
            protocols.add(answer.protocol)

    protocols: set[str | None] = set()
    begun, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(OPEN)))
    cpu_us = (time.process_time() - used) / requests * 1e6
    took_s = time.perf_counter() - begun
    await transports.close()
    print(f"{name:42} {cpu_us:7.0f} µs of CPU a request, {requests / took_s:6.0f} requests/s, {protocols}")  # noqa: T201  (figures)


async def _all(ports: list[int], requests: int) -> None:
    plain, secure, h2_port = ports
    order = Order(method="GET", url=f"http://HOST:{plain}/", host="", headers=(), max_bytes=1 << 20, verify_tls=False)
    one, two = f"https://HOST:{secure}/", f"https://HOST:{h2_port}/"
    for _ in range(2):
        await _measure("plain, aiohttp", order, requests)
        await _measure("plain, httpcore (later try)", replace(order, careful=True), requests)
        await _measure("TLS, http2: false, aiohttp", replace(order, url=one, http2=False), requests)
        await _measure(
            "TLS, http2: false, httpcore (later try)", replace(order, url=one, http2=False, careful=True), requests
        )
        await _measure("TLS, http2: true, site has HTTP/1.1", replace(order, url=one), requests)
        await _measure("TLS, http2: true, site has HTTP/2", replace(order, url=two), requests)


def main() -> None:
    """Start the site and print one line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(_serve(given.serve))
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-subj", "/CN=host", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        command = [sys.executable, "-m", "tests.bench.fetch_cpu", "--serve", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as site:
            assert site.stdout is not None
            ports = [int(port) for port in site.stdout.readline().split()]
            try:
                asyncio.run(_all(ports, given.requests))
            finally:
                site.kill()


if __name__ == "__main__":
    main()
