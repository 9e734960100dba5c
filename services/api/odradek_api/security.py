"""Who may ask: keys where there are keys, and on loopback no web page of a browser."""

import hashlib
import hmac
from ipaddress import ip_address

from starlette.requests import Request

from odradek.errors import UserError
from odradek.settings import Settings
from odradek_api.core.problems import Problem

SEED_TYPES = ("application/json", "text/plain", "application/x-ndjson", "text/csv")
OPEN_PATHS = ("/health/live", "/health/ready")


def is_loopback(host: str) -> bool:
    """True for an address or name that only this machine reaches."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def refuse_open_door(settings: Settings) -> None:
    """Keys before opening ports.

    Raises:
        UserError: bound beyond loopback without keys.
    """
    if not is_loopback(settings.api_host) and not settings.api_keys and not settings.insecure:
        raise UserError(
            f"The gateway will not bind {settings.api_host} without API keys; set ODRADEK_API_KEYS, bind 127.0.0.1, "
            "or accept the risk with ODRADEK_INSECURE=1."
        )


class Door:
    """Checks every request before a route sees it."""

    def __init__(self, settings: Settings) -> None:
        self._keys = dict(entry.split(":", 1) for entry in settings.api_keys if ":" in entry)
        self._loopback = is_loopback(settings.api_host)

    def check(self, request: Request) -> str | None:
        """The name of the key that asks, or None where no keys exist.

        Raises:
            Problem: 401 without a valid key, 403 for another Host or Origin on loopback, 415 for another body type.
        """
        if request.url.path in OPEN_PATHS:
            return None
        if self._loopback:
            self._check_browser(request)
        if request.method in ("POST", "PUT", "PATCH") and int(request.headers.get("content-length") or 0) > 0:
            self._check_type(request)
        return self._owner(request.headers.get("x-api-key")) if self._keys else None

    def _owner(self, key: str | None) -> str:
        digest = hashlib.sha256((key or "").encode()).hexdigest()
        owner = None
        for name, known in self._keys.items():
            if hmac.compare_digest(digest, known):
                owner = name
        if owner is None:
            raise Problem(401, "Who is asking?", "Send a valid key in the header X-API-Key.")
        return owner

    @staticmethod
    def _check_browser(request: Request) -> None:
        host = (request.headers.get("host") or "").rpartition(":")[0] or request.headers.get("host") or ""
        if not is_loopback(host):
            raise Problem(403, "Wrong host", f"This gateway answers to its loopback address, not to {host!r}.")
        origin = request.headers.get("origin")
        if origin is not None and origin.split("://", 1)[-1] != request.headers.get("host"):
            raise Problem(403, "Wrong origin", f"Pages of {origin} may not talk to this gateway.")

    @staticmethod
    def _check_type(request: Request) -> None:
        kind = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
        allowed = SEED_TYPES if request.url.path.endswith("/seeds") else ("application/json",)
        if kind not in allowed:
            raise Problem(415, "Unknown body type", f"Send {' or '.join(allowed)}, not {kind or 'an untyped body'}.")
