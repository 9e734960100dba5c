"""The search engine over its REST interface, as Elasticsearch 8 and 9 (and what imitates them) speak it."""

import ssl
from typing import Any

import httpx
import msgspec

from odradek.errors import InfrastructureAway, UserError
from odradek.settings import Settings

ANSWER_S = 30
CONNECT_S = 5
REDIRECT, REFUSED = 300, 400

_JSON = "application/vnd.elasticsearch+json; compatible-with=8"
_LINES = "application/vnd.elasticsearch+x-ndjson; compatible-with=8"
"""Servers 8 and 9 both understand version 8 of the interface."""


class SearchRefused(Exception):  # noqa: N818  (what happened, not an error of ours)
    """The engine answered with an error status."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(f"{status} {error}")
        self.status = status
        """HTTP status, 400 and above."""


class SearchEngine:
    """One search engine. Blocking; may be used from many threads. Nothing is retried here."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def call(self, method: str, path: str, body: dict[str, Any] | bytes | None = None) -> Any:
        """One request; bytes are NDJSON. Returns the decoded answer.

        Raises:
            SearchRefused: the engine answered with an error status.
            InfrastructureAway: it did not answer, or what answered is no search engine.
        """
        headers = {"accept": _JSON}
        if body is not None:
            headers["content-type"] = _LINES if isinstance(body, bytes) else _JSON
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        try:
            response = self._client.request(method, path, headers=headers, content=content)
            answer = msgspec.json.decode(response.content) if response.content else None
        except httpx.HTTPError as error:
            raise InfrastructureAway(f"Elasticsearch does not answer: {error or type(error).__name__}") from error
        except msgspec.DecodeError as error:
            if response.status_code < REFUSED:
                raise InfrastructureAway(f"what answers for Elasticsearch does not speak JSON: {error}") from error
            answer = response.text[:500]
        if response.status_code >= REFUSED:
            raise SearchRefused(response.status_code, _sentence(answer))
        if response.status_code >= REDIRECT:
            raise InfrastructureAway(f"Elasticsearch redirects ({response.status_code}); is its URL right?")
        return answer

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()


def connect_search(settings: Settings) -> SearchEngine:
    """The search engine of the settings; does not connect yet.

    Raises:
        UserError: the URL or the file of the authority is wrong.
    """
    key, authority = settings.elasticsearch_api_key, settings.elasticsearch_ca
    try:
        verify = ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise UserError(f"ODRADEK_ELASTICSEARCH_CA {authority} cannot be read: {error}.") from None
    try:
        url = httpx.URL(settings.elasticsearch_url)
    except httpx.InvalidURL as error:
        raise UserError(f"ODRADEK_ELASTICSEARCH_URL is wrong: {error}.") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise UserError("ODRADEK_ELASTICSEARCH_URL is wrong: it must look like https://host:9200.")
    headers = {} if key is None else {"authorization": f"ApiKey {key.get_secret_value()}"}
    timeout = httpx.Timeout(ANSWER_S, connect=CONNECT_S)
    return SearchEngine(httpx.Client(base_url=url, headers=headers, timeout=timeout, verify=verify, trust_env=False))


def _sentence(answer: Any) -> str:
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if isinstance(error, dict):
        error = f"{error.get('type')}: {error.get('reason')}"
    return str(error)[:1000]
