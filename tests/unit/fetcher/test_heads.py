"""What a request of HTTP/1.1 begins with, byte for byte."""

import aiohttp
import pytest

from odradek_fetcher.core.answers import Order
from odradek_fetcher.quick import head

ORIGIN = "http://books.example:8080"


def an_order(target: str = "/a?b=c", **changes: object) -> Order:
    given = {"method": "GET", "headers": (("user-agent", "Odradek/0.1"),), "max_bytes": 1 << 20}
    return Order(url=ORIGIN + target, host="books.example", **(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, b""),
        ({"method": "HEAD"}, b""),
        ({"method": "POST"}, b"Content-Length: 0\r\n"),
        ({"method": "POST", "body": b"four"}, b"Content-Length: 4\r\n"),
        ({"body": b"four"}, b"Content-Length: 4\r\n"),
    ],
)
def test_a_head_names_the_host_and_how_long_the_body_is(changes: dict[str, object], told: bytes) -> None:
    order = an_order("/a?b=c", **changes)
    line = f"{order.method} /a?b=c HTTP/1.1\r\n".encode()
    expected = line + b"Host: books.example:8080\r\n" + told + b"user-agent: Odradek/0.1\r\n\r\n"
    assert expected == head(order, ORIGIN, "/a?b=c")


@pytest.mark.parametrize("target", ["/a b", "/a\r\nx: y", "/a\tb", "/\u00e4", "/a\x7f"])
def test_a_path_that_would_end_the_line_is_not_sent(target: str) -> None:
    with pytest.raises(aiohttp.InvalidURL):
        head(an_order(target), ORIGIN, target)


@pytest.mark.parametrize("pair", [("x\r\ny", "z"), ("x", "y\r\nz: w"), ("x", "\u00e4")])
def test_a_header_that_would_end_the_line_is_not_sent(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        head(an_order(headers=(pair,)), ORIGIN, "/")
