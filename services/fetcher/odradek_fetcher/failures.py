"""Every exception of the HTTP libraries, and of what lies under them, as one class of the closed list.

A site must not be able to end the process, so what nobody foresaw becomes `protocol`. It is logged, with its trace
unless a library stumbled over an answer (`:status: abc`): sites shall not fill the log.
"""

import socket
import ssl
from collections.abc import Iterator

import aiohttp
import aiohttp.http_exceptions
import anyio
import h2.exceptions
import h11
import hpack
import httpcore
import httpx
import hyperframe.exceptions
import socksio
import structlog

from odradek.contracts import FailureClass
from odradek.resolve import NameFailure, PrivateAddress
from odradek_fetcher.core.answers import Failure
from odradek_fetcher.core.decoding import Bomb, DecodeFailure

log = structlog.get_logger()


class TooSlow(Exception):  # noqa: N818  (the failure class `too_slow`)
    """The body drips in below the minimum rate."""


_CLASSES: tuple[tuple[type[BaseException], FailureClass], ...] = (
    (PrivateAddress, "private_address"),
    (NameFailure, "dns"),
    (socket.gaierror, "dns"),
    (TooSlow, "too_slow"),
    (Bomb, "bomb"),
    (DecodeFailure, "decode"),
    (httpx.DecodingError, "decode"),
    (httpx.TooManyRedirects, "redirect_limit"),
    (aiohttp.TooManyRedirects, "redirect_limit"),
    (aiohttp.http_exceptions.ContentEncodingError, "decode"),
    (aiohttp.http_exceptions.DecompressSizeError, "bomb"),
    (aiohttp.ClientHttpProxyError, "proxy"),
    (aiohttp.ClientProxyConnectionError, "proxy"),
    (httpx.ProxyError, "proxy"),
    (httpcore.ProxyError, "proxy"),
    (socksio.SOCKSError, "proxy"),
    (ssl.SSLEOFError, "reset"),
    (ssl.SSLZeroReturnError, "reset"),
    (ssl.SSLError, "tls"),
    (ssl.CertificateError, "tls"),
    (aiohttp.ClientSSLError, "tls"),
    (aiohttp.ServerFingerprintMismatch, "tls"),
    (aiohttp.ConnectionTimeoutError, "timeout_connect"),
    (aiohttp.ServerTimeoutError, "timeout_read"),
    (aiohttp.ClientConnectorDNSError, "dns"),
    (aiohttp.ClientConnectorError, "connect"),
    (aiohttp.http_exceptions.ContentLengthError, "reset"),
    (aiohttp.http_exceptions.HttpProcessingError, "protocol"),
    (aiohttp.ClientResponseError, "protocol"),
    (aiohttp.InvalidURL, "protocol"),
    (aiohttp.ClientConnectionError, "reset"),
    (aiohttp.ClientPayloadError, "reset"),
    (aiohttp.ClientError, "protocol"),
    (httpx.ConnectTimeout, "timeout_connect"),
    (httpcore.ConnectTimeout, "timeout_connect"),
    (httpx.PoolTimeout, "timeout_connect"),
    (httpcore.PoolTimeout, "timeout_connect"),
    (httpx.TimeoutException, "timeout_read"),
    (httpcore.TimeoutException, "timeout_read"),
    (ConnectionRefusedError, "connect"),
    (httpx.ConnectError, "connect"),
    (httpcore.ConnectError, "connect"),
    (httpcore.ConnectionNotAvailable, "connect"),
    (httpx.NetworkError, "reset"),
    (httpcore.NetworkError, "reset"),
    (httpx.StreamError, "reset"),
    (anyio.BrokenResourceError, "reset"),
    (anyio.ClosedResourceError, "reset"),
    (anyio.EndOfStream, "reset"),
    (ConnectionError, "reset"),
    (EOFError, "reset"),
    (TimeoutError, "timeout_read"),
    (OSError, "reset"),
    (httpx.HTTPError, "protocol"),
    (httpx.InvalidURL, "protocol"),
    (httpx.CookieConflict, "protocol"),
    (httpcore.ProtocolError, "protocol"),
    (httpcore.UnsupportedProtocol, "protocol"),
    (h11.ProtocolError, "protocol"),
    (h2.exceptions.H2Error, "protocol"),
    (hpack.HPACKError, "protocol"),
    (hyperframe.exceptions.HyperframeError, "protocol"),
    (UnicodeError, "protocol"),
)
"""The first row that fits counts; an exception is looked at before its causes, except for those that hide one."""

_HIDING = (httpx.ConnectError, httpcore.ConnectError)
"""Raised for whatever went wrong while connecting: the cause says more."""
_LIBRARIES = frozenset(("aiohttp", "h11", "h2", "hpack", "httpcore", "httpx", "hyperframe", "socksio"))
_DISCONNECTED = ("server disconnected", "peer closed connection", "connectionterminated", "connection closed")
"""How httpcore and h11 put it when the other side hung up; they have no exception of its own for that."""


def failure_of(error: BaseException, *, proxied: bool = False, answered: bool = False) -> Failure:
    """The failure that an exception means; `proxied`: through a proxy, `answered`: after the response head."""
    found = next((each for each in _telling(error)), error)
    reason = classify(error)
    if reason is None:
        reason = "protocol"
        if (library := _raised_in(error)) in _LIBRARIES:
            log.warning("answer_not_understood", library=library, error=_sentence(error, reason))
        else:
            log.error("unforeseen_exception", exc_info=error)
    if proxied and not answered and reason in ("connect", "timeout_connect"):
        reason = "proxy"
    lasting = reason == "private_address" or (isinstance(found, NameFailure) and found.lasting)
    return Failure(reason, _sentence(found, reason), lasting)


def classify(error: BaseException) -> FailureClass | None:
    """The class of an exception; None when nobody foresaw it."""
    for each in _telling(error):
        for kind, reason in _CLASSES:
            if isinstance(each, kind):
                return "reset" if reason == "protocol" and _disconnected(each) else reason
    return None


def _raised_in(error: BaseException) -> str | None:
    """The package whose code raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0]


def _telling(error: BaseException) -> Iterator[BaseException]:
    """The exceptions to look at, the most telling first."""
    chain = [error]
    while isinstance(chain[-1], _HIDING) and (under := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(under)
    if isinstance(chain[-1], OSError) and not isinstance(chain[-1], socket.gaierror | ssl.SSLError):
        yield from chain[:-1] if len(chain) > 1 else chain
        return
    yield from reversed(chain)


def _disconnected(error: BaseException) -> bool:
    remote = httpx.RemoteProtocolError | httpcore.RemoteProtocolError | h11.RemoteProtocolError
    return isinstance(error, remote) and any(mark in str(error).lower() for mark in _DISCONNECTED)


def _sentence(error: BaseException, reason: str) -> str:
    text = " ".join(str(error).split())[:300]
    name = type(error).__name__
    return f"{text} ({name})" if text else f"{reason.replace('_', ' ')} ({name})"
