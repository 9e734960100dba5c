"""What may be shown of a specification: secrets blotted out, wherever one can stand."""

import re
from typing import Any

BLOT = "***"
_REFERENCE = re.compile(r"(?:[\w.@-]+[: ])?\$\{env:\w+\}\Z")
_SECRET_HEADER = re.compile(r"auth|cookie|token|secret|key|password|credential|session", re.IGNORECASE)
_CREDENTIALS = re.compile(r"://[^@/\s]+@")


def redacted(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification (`to_wire`) for REST, console, logs and terminal.

    Literal credentials, all cookies, headers that carry secrets and the passwords of proxies become `***`; a reference
    such as `${env:NAME}` stays, since it gives nothing away.
    """
    fetch = dict(spec.get("fetch") or {})
    if fetch.get("auth"):
        fetch["auth"] = {kind: _blotted(value) for kind, value in fetch["auth"].items()}
    if fetch.get("cookies"):
        fetch["cookies"] = {name: _blotted(value) for name, value in fetch["cookies"].items()}
    if fetch.get("headers"):
        fetch["headers"] = {
            name: _blotted(value) if _SECRET_HEADER.search(name) else value for name, value in fetch["headers"].items()
        }
    if fetch.get("proxies"):
        fetch["proxies"] = [without_credentials(proxy) for proxy in fetch["proxies"]]
    shown = {**spec, "fetch": fetch} if fetch else dict(spec)
    if spec.get("webhooks"):
        shown["webhooks"] = [
            {"url": redacted_url(hook)} if isinstance(hook, str) else {**hook, "url": redacted_url(hook["url"])}
            for hook in spec["webhooks"]
        ]
    return shown


def without_credentials(text: str) -> str:
    """A text that may quote URLs, without users and passwords in them."""
    return _CREDENTIALS.sub(f"://{BLOT}@", text) if "@" in text else text


def redacted_url(url: str) -> str:
    """A webhook's URL without its query, in which receivers like to have a token."""
    address, question, _ = url.partition("?")
    return f"{address}?{BLOT}" if question else address


def _blotted(value: Any) -> Any:
    return value if value is None or _REFERENCE.match(str(value)) else BLOT
