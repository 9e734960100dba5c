"""The search engine through Elasticsearch's own client, spoken to in version 8, which Elasticsearch 8 and 9 understand.

The client takes three seconds of processor time to import: that is done with the first request, in the thread that
makes it, so no process starts later because of it.
"""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from odradek.authorities import trusting
from odradek.errors import InfrastructureAway, UserError
from odradek.settings import Settings

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

ANSWER_S = 30
TOO_MANY, SERVER_ERROR, NOT_IMPLEMENTED = 429, 500, 501

_JSON = "application/vnd.elasticsearch+json; compatible-with=8"
_LINES = "application/vnd.elasticsearch+x-ndjson; compatible-with=8"
"""Said with every request: the client of version 9 would ask for version 9, which servers of version 8 refuse."""


class SearchRefused(Exception):  # noqa: N818  (what happened, not an error of ours)
    """The engine answered with an error status that will not pass by itself."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(f"{status} {error}")
        self.status = status
        """HTTP status, 400 and above."""


class SearchEngine:
    """One search engine, of one node or several. Blocking; may be used from many threads."""

    def __init__(self, opened: Callable[[], "Elasticsearch"]) -> None:
        self._opened = opened
        self._client: Elasticsearch | None = None
        self._lock = Lock()

    def call(self, method: str, path: str, body: dict[str, Any] | bytes | None = None) -> Any:
        """One request; bytes are NDJSON. Returns the decoded answer.

        A node that does not answer is passed over for the next one; nothing else is tried again here.

        Raises:
            SearchRefused: the engine answered with an error status.
            InfrastructureAway: it did not answer, cannot answer now (429, 5xx), or is no Elasticsearch.
        """
        client = self._ready()
        from elasticsearch import ApiError, TransportError, UnsupportedProductError  # noqa: PLC0415  (see the module)

        headers = {"accept": _JSON}
        if body is not None:
            headers["content-type"] = _LINES if isinstance(body, bytes) else _JSON
        try:
            return client.perform_request(method, path, headers=headers, body=body).body
        except ApiError as error:
            raise _answered(error.status_code, error.body) from error
        except UnsupportedProductError as error:
            raise InfrastructureAway(f"what answers is not Elasticsearch: {error}") from error
        except TransportError as error:
            said = str(error) if error.errors else str(error.message)  # the first says no more than "TLS error" then
            raise InfrastructureAway(f"Elasticsearch does not answer: {said[:500]}") from error

    def close(self) -> None:
        """Let the connections go."""
        if self._client is not None:
            self._client.close()

    def _ready(self) -> "Elasticsearch":
        with self._lock:
            if self._client is None:
                self._client = self._opened()
            return self._client


def connect_search(settings: Settings) -> SearchEngine:
    """The search engine of the settings; does not connect yet.

    Raises:
        UserError: an address or the file of the authority is wrong.
    """
    nodes = [_node(address) for address in settings.elasticsearch_url.split(",")]
    key, authority = settings.elasticsearch_api_key, settings.elasticsearch_ca
    options: dict[str, Any] = {
        "request_timeout": ANSWER_S,
        "max_retries": len(nodes) - 1,
        "retry_on_status": (),
        "api_key": None if key is None else key.get_secret_value(),
    }
    try:
        trusted = trusting(authority)
    except OSError as error:
        raise UserError(f"ODRADEK_ELASTICSEARCH_CA {authority} cannot be read: {error}.") from None
    if any(node.startswith("https:") for node in nodes):
        options["ssl_context"] = trusted

    def opened() -> "Elasticsearch":
        from elasticsearch import Elasticsearch  # noqa: PLC0415  (see the module)

        return Elasticsearch(nodes, **options)

    return SearchEngine(opened)


def _node(address: str) -> str:
    """An address with its port, without which the client takes none."""
    url = urlsplit(address.strip())
    try:
        known = url.port is not None
    except ValueError as error:
        raise UserError(f"ODRADEK_ELASTICSEARCH_URL is wrong: {error}.") from None
    if url.scheme not in ("http", "https") or not url.hostname:
        raise UserError("ODRADEK_ELASTICSEARCH_URL is wrong: it must look like https://host:9200.")
    port = "" if known else ":443" if url.scheme == "https" else ":80"
    return url._replace(netloc=url.netloc.removesuffix(":") + port, query="", fragment="").geturl()


def _answered(status: int, body: Any) -> SearchRefused | InfrastructureAway:
    said = _sentence(body)
    if status == TOO_MANY or (status >= SERVER_ERROR and status != NOT_IMPLEMENTED):
        return InfrastructureAway(f"Elasticsearch cannot answer now: {status} {said}")
    return SearchRefused(status, said)


def _sentence(answer: Any) -> str:
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if isinstance(error, dict):
        error = f"{error.get('type')}: {error.get('reason')}"
    return str(error)[:1000]
