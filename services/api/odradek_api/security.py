"""Who may ask: keys where there are keys, and never a web page of a browser."""

import asyncio
import hmac
import time
from collections.abc import Mapping
from ipaddress import ip_address

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from odradek.errors import UserError
from odradek.keys import hashed, known_keys
from odradek.settings import Settings
from odradek_api.answering import document_response
from odradek_api.core.limits import Rates
from odradek_api.core.problems import Problem, body_too_large, too_often, too_slow
from odradek_api.tickets import Tickets
from odradek_api.tracing import REQUEST_ID, request_id_of

SEED_TYPES = ("application/json", "text/plain", "application/x-ndjson", "text/csv")
JSON_TYPES = ("application/json", "application/merge-patch+json")
OPEN_PATHS = ("/", "/health/live", "/health/ready", "/docs", "/openapi.json")
CONSOLE = "/console/"
"""Its files are the same for everybody; what they show is asked for with a key."""
FOR_BROWSERS = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}
"""No page of another origin can take an answer for its script, style or picture."""
BODY_IDLE_S = 60.0
"""A body of which nothing came for so long is given up: what waits for its end would wait for ever."""


def is_loopback(host: str) -> bool:
    """True for an address or name that only this machine reaches."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def refuse_open_door(settings: Settings) -> None:
    """Keys before opening ports.

    Raises:
        UserError: bound beyond loopback without keys, or keys that cannot be read.
    """
    known = known_keys(settings)
    if not is_loopback(settings.api_host) and not known and not settings.insecure:
        raise UserError(
            f"The gateway will not bind {settings.api_host} without API keys; set ODRADEK_API_KEYS, bind 127.0.0.1, "
            "or accept the risk with ODRADEK_INSECURE=1."
        )


class Door:
    """Checks every request before a route sees it, and gives every answer the request's id."""

    def __init__(self, app: ASGIApp, settings: Settings, tickets: Tickets, idle_s: float = BODY_IDLE_S) -> None:
        self._app, self._tickets, self._idle_s = app, tickets, idle_s
        self._keys = known_keys(settings)
        self._loopback = is_loopback(settings.api_host)
        self._rates = Rates(settings.api_rate)
        self._max_body, self._max_seeds = settings.api_max_body, settings.api_max_seeds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = request_id_of(headers.get("x-request-id"))
        REQUEST_ID.set(request_id)
        structlog.contextvars.bind_contextvars(request_id=request_id)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                sent["X-Request-Id"] = request_id
                for name, value in FOR_BROWSERS.items():
                    sent.setdefault(name, value)
            await send(message)

        try:
            owner = self.check(scope["method"], scope["path"], headers, scope["query_string"].decode("latin-1"))
            receive = self._capped(scope["path"], headers, receive)
        except Problem as problem:
            await document_response(scope["path"], problem)(scope, receive, sending)
            return
        scope.setdefault("state", {})["owner"] = owner
        await self._app(scope, receive, sending)

    def check(self, method: str, path: str, headers: Mapping[str, str], query: str) -> str | None:
        """The name of the key that asks, or None where no keys exist; a ticket in the query stands for its key.

        Raises:
            Problem: 401 without a valid key, 403 for another Host or Origin, 415 for another body type, 429 for a key
                that asks too often.
        """
        self._check_browser(headers)
        if path in OPEN_PATHS or path.startswith(CONSOLE):
            return None
        owner = self._asker(method, path, headers.get("x-api-key"), query) if self._keys else None
        if method in ("POST", "PUT", "PATCH") and _has_body(headers):
            _check_type(path, headers)
        return owner

    def _asker(self, method: str, path: str, key: str | None, query: str) -> str | None:
        if key is None and method == "GET":
            ticket = self._tickets.take(path, query, time.monotonic())
            if ticket is not None:
                return ticket[0]
        return self._owner(key)

    def _owner(self, key: str | None) -> str:
        digest = hashed(key or "")
        owner = None
        for name, known in self._keys.items():
            if hmac.compare_digest(digest, known):
                owner = name
        if owner is None:
            raise Problem(401, "Who is asking?", "Send a valid key in the header X-API-Key.")
        wait_s = self._rates.wait_s(owner, time.monotonic())
        if wait_s:
            raise too_often(owner, self._rates.per_s, wait_s)
        return owner

    def _capped(self, path: str, headers: Mapping[str, str], receive: Receive) -> Receive:
        """The body, until it is larger than may be or does not go on.

        Raises:
            Problem: 413 when it says so itself, in the stream when it does not; 408 in the stream.
        """
        most = self._max_seeds if path.endswith("/seeds") else self._max_body
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > most:
            raise body_too_large(most)
        seen, whole = 0, False

        async def receiving() -> Message:
            nonlocal seen, whole
            if whole:
                return await receive()
            try:
                async with asyncio.timeout(self._idle_s):
                    message = await receive()
            except TimeoutError:
                raise too_slow(self._idle_s) from None
            whole = not message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > most:
                raise body_too_large(most)
            return message

        return receiving

    def _check_browser(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host") or ""
        name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
        if self._loopback and not is_loopback(name):
            raise Problem(403, "Wrong host", f"This gateway answers to its loopback address, not to {name!r}.")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise Problem(403, "Wrong origin", f"Pages of {origin} may not talk to this gateway.")
        place, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
        if place not in (None, "same-origin", "none") and mode != "navigate":
            raise Problem(403, "Wrong origin", "Pages of other origins may link to this gateway, and no more.")


def _has_body(headers: Mapping[str, str]) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _check_type(path: str, headers: Mapping[str, str]) -> None:
    kind, _, more = (headers.get("content-type") or "").lower().partition(";")
    kind, charset = kind.strip(), more.partition("charset=")[2].partition(";")[0].strip(" \"'")
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Problem(415, "Unknown body type", f"Send UTF-8, not {charset}.")
    coding = headers.get("content-encoding") or "identity"
    if coding.lower() != "identity":
        raise Problem(415, "Unknown body type", f"Send the body as it is, without the content coding {coding}.")
    allowed = SEED_TYPES if path.endswith("/seeds") else JSON_TYPES
    if kind not in allowed:
        raise Problem(415, "Unknown body type", f"Send {' or '.join(allowed)}, not {kind or 'an untyped body'}.")
