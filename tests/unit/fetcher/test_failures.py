"""No exception of the HTTP libraries, or of what lies under them, is left without a class of the closed list."""

import inspect
import pkgutil
import re
import socket
import ssl
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import aiohttp
import anyio
import h2.exceptions
import h11
import hpack
import httpcore
import httpx
import hyperframe
import pytest
import socksio
from structlog.testing import capture_logs

from odradek.contracts import FAILURE_CLASSES
from odradek.resolve import NameFailure, PrivateAddress
from odradek_fetcher.core.decoding import Bomb, DecodeFailure
from odradek_fetcher.failures import TooSlow, classify, failure_of

LIBRARIES = (httpx, httpcore, h11, h2, hpack, hyperframe, socksio, anyio, aiohttp)
NO_CLIENT = r"main|trio|curio|\.tests|test_utils|pytest_plugin|aiohttp\.(web|worker|_)"
"""Modules that no client imports."""
NEVER_RAISED_BY_A_FETCH = set(
    # websockets, multipart bodies, and decoding, which is left to us
    "WSMessageTypeError WSHandshakeError WebSocketError BadContentDispositionHeader BadContentDispositionParam "
    "LookupError TooManyMembersError H11Warning "
    # read within aiohttp and turned into the end of the body
    "EofStream "
    # anyio's of processes, tasks, streams with delimiters, and calls that do not wait
    "BrokenWorkerInterpreter BrokenWorkerProcess BusyResourceError DelimiterNotFound FutureAlreadyFinished "
    "FutureCancelled FutureFailed FutureNotFinished IncompleteRead NoEventLoopError RunFinishedError TaskCancelled "
    "TaskFailed TaskNotFinished TypedAttributeLookupError WouldBlock".split()
)


def exceptions_of(package: ModuleType) -> Iterator[type[BaseException]]:
    """Every exception class that a package defines, also in modules it does not export."""
    names = [package.__name__]
    names += [
        each.name
        for each in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        if not re.search(NO_CLIENT, each.name)
    ]
    for name in names:
        for _, found in inspect.getmembers(import_module(name), inspect.isclass):
            if issubclass(found, Exception) and found.__module__.partition(".")[0] == package.__name__:
                yield found


def all_exceptions() -> list[type[BaseException]]:
    found = {each for library in LIBRARIES for each in exceptions_of(library)}
    found |= {each for _, each in inspect.getmembers(ssl, inspect.isclass) if issubclass(each, Exception)}
    found |= {socket.gaierror, socket.herror, TimeoutError, ConnectionResetError, BrokenPipeError, OSError}
    found |= {NameFailure, PrivateAddress, TooSlow, Bomb, DecodeFailure}
    return sorted(
        (each for each in found if each.__name__ not in NEVER_RAISED_BY_A_FETCH),
        key=lambda each: (each.__module__, each.__name__),
    )


def raised(kind: type[BaseException]) -> BaseException:
    """An instance without its constructor's wishes: only its class is judged."""
    error = kind.__new__(kind)
    error.args = ("boom",)
    return error


@pytest.mark.parametrize("kind", all_exceptions(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_exception_has_a_class(kind: type[BaseException]) -> None:
    assert classify(raised(kind)) in FAILURE_CLASSES


def test_the_walk_finds_the_libraries() -> None:
    found = all_exceptions()
    assert {httpx.ReadTimeout, httpcore.ProxyError, h2.exceptions.StreamClosedError} <= set(found)
    assert len(found) > 90


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (httpx.ConnectTimeout("x"), "timeout_connect"),
        (httpx.ReadTimeout("x"), "timeout_read"),
        (httpx.ConnectError("x"), "connect"),
        (caused(httpx.ConnectError("x"), caused(httpcore.ConnectError("x"), ssl.SSLCertVerificationError("x"))), "tls"),
        (caused(httpx.ConnectError("x"), caused(httpcore.ConnectError("x"), ConnectionRefusedError("x"))), "connect"),
        (caused(httpx.ConnectError("x"), caused(httpcore.ConnectError("x"), OSError(113, "no route"))), "connect"),
        (caused(httpx.ConnectError("x"), caused(httpcore.ConnectError("x"), ssl.SSLEOFError("x"))), "reset"),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), "reset"),
        (httpx.RemoteProtocolError("illegal status line"), "protocol"),
        (httpx.ReadError("x"), "reset"),
        (aiohttp.ServerDisconnectedError(), "reset"),
        (aiohttp.ConnectionTimeoutError("x"), "timeout_connect"),
        (aiohttp.SocketTimeoutError("x"), "timeout_read"),
        (aiohttp.ClientPayloadError("x"), "reset"),
        (caused(aiohttp.ClientPayloadError("x"), aiohttp.http_exceptions.TransferEncodingError("x")), "reset"),
        (NameFailure("x", lasting=True), "dns"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "dns"),
        (PrivateAddress("x"), "private_address"),
    ],
)
def test_an_exception_means_the_failure_that_a_person_would_name(error: BaseException, reason: str) -> None:
    assert classify(error) == reason


def test_what_nobody_foresaw_is_a_failure_of_the_protocol() -> None:
    failure = failure_of(ZeroDivisionError("surprise"))
    assert (failure.reason, failure.error) == ("protocol", "surprise (ZeroDivisionError)")


def test_trouble_on_the_way_to_a_proxy_is_the_proxys() -> None:
    assert failure_of(httpx.ConnectTimeout("x"), proxied=True).reason == "proxy"
    assert failure_of(httpx.ReadTimeout("x"), proxied=True, answered=True).reason == "timeout_read"


def test_only_what_will_not_change_is_lasting() -> None:
    assert failure_of(NameFailure("no such name", lasting=True)).lasting
    assert not failure_of(NameFailure("try again", lasting=False)).lasting
    assert failure_of(PrivateAddress("inside")).lasting


@pytest.mark.parametrize(
    ("module", "level", "traced"),
    [("httpcore._async.http2", "warning", False), ("odradek_fetcher.http", "error", True)],
)
def test_a_library_that_stumbles_over_an_answer_is_logged_without_a_trace(
    module: str,
    level: str,
    traced: bool,  # noqa: FBT001  (a row)
) -> None:
    with pytest.raises(ValueError, match="abc") as raised:
        exec("int('abc')", {"__name__": module})
    with capture_logs() as logs:
        failure = failure_of(raised.value)

    assert failure.reason == "protocol"
    assert [(entry["log_level"], "exc_info" in entry) for entry in logs] == [(level, traced)]
