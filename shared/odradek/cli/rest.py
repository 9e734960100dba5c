"""The gateway from a command: requests, and its problem documents as one sentence."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from odradek.errors import InfrastructureAway, UserError


class Rest:
    """A client of one gateway."""

    def __init__(self, url: str, key: str | None = None) -> None:
        headers = {"X-API-Key": _sendable("the API key", key)} if key else {}
        self._client = httpx.Client(base_url=_address(url), headers=headers, timeout=60, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON of a GET.

        Raises:
            UserError: the gateway says what is wrong.
            InfrastructureAway: it does not answer.
        """
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._json("GET", path, params=given)

    def post(self, path: str, body: Any = None, *, key: str | None = None, **parameters: Any) -> Any:
        """The JSON of a POST, with an idempotency key; raises as `get`."""
        options: dict[str, Any] = {"params": {name: value for name, value in parameters.items() if value is not None}}
        options |= {} if body is None else {"json": body}
        return self._json("POST", path, headers=_keyed(key), **options)

    def patch(self, path: str, body: Any) -> Any:
        """The JSON of a PATCH; raises as `get`."""
        return self._json("PATCH", path, json=body)

    def put(self, path: str, body: Any) -> Any:
        """The JSON of a PUT; raises as `get`."""
        return self._json("PUT", path, json=body)

    def delete(self, path: str) -> Any:
        """The JSON of a DELETE; raises as `get`."""
        return self._json("DELETE", path)

    def upload(self, path: str, lines: Iterable[bytes], kind: str, key: str | None = None) -> Any:
        """The JSON of a POST whose body is streamed, with an idempotency key; raises as `get`."""
        headers = {"content-type": kind, **_keyed(key)}
        return self._json("POST", path, content=iter(lines), headers=headers, timeout=None)

    @contextmanager
    def lines(self, path: str, **parameters: Any) -> Iterator[Iterator[str]]:
        """The lines of a streamed answer; raises as `get`, also while they are read."""
        try:
            with self._client.stream("GET", path, params=parameters) as response:
                if not response.is_success:
                    response.read()
                    raise UserError(_sentence(response), exit_code=1)
                yield _lines(response)
        except httpx.HTTPError as error:
            raise self._away(error) from error

    def _away(self, error: httpx.HTTPError) -> InfrastructureAway:
        said = str(error) or type(error).__name__
        return InfrastructureAway(
            f"The gateway at {self._client.base_url} does not answer: {said}; start one with odradek up, or name "
            "another with --api."
        )

    def _json(self, method: str, path: str, **options: Any) -> Any:
        try:
            response = self._client.request(method, path, **options)
        except httpx.HTTPError as error:
            raise self._away(error) from error
        if not response.is_success:
            raise UserError(_sentence(response), exit_code=2 if response.status_code == 422 else 1)  # noqa: PLR2004
        return response.json()


def _address(url: str) -> httpx.URL:
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        found = httpx.URL()
    if found.scheme not in ("http", "https") or not found.host:
        raise UserError(f"{url!r} is no address of a gateway; write --api http://127.0.0.1:8000.")
    return found


def segment(text: str) -> str:
    """An id or host, as it stands between two slashes of an address.

    Raises:
        UserError: it is none.
    """
    if text in ("", ".", ".."):
        raise UserError(f"{text!r} is no id; see odradek jobs list.")
    return quote(text, safe="")


def _keyed(key: str | None) -> dict[str, str]:
    return {} if key is None else {"idempotency-key": _sendable("the idempotency key", key)}


def _sendable(what: str, text: str) -> str:
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
    raise UserError(f"Not sent: {what} may have printable ASCII characters only, and no space around them.")


def _lines(response: httpx.Response) -> Iterator[str]:
    """Split at line feeds alone: JSON may hold other characters that Python takes for ends of lines."""
    rest = b""
    for piece in response.iter_bytes():
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in whole)
    if rest:
        yield rest.decode()


def _sentence(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"The gateway answered {response.status_code}: {response.text[:200]}"
