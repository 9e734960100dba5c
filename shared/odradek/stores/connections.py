"""Clients of the two stores, made from the settings: bounded waits, acknowledged writes, one spelling of instants."""

from typing import Any

from elasticsearch import Elasticsearch
from pymongo import MongoClient
from pymongo.database import Database

from odradek.settings import Settings

DATABASE = "odradek"
ANSWER_S = 30
FIND_SERVER_S = 5

_JSON = "application/vnd.elasticsearch+json; compatible-with=8"
_LINES = "application/vnd.elasticsearch+x-ndjson; compatible-with=8"


def connect_documents(settings: Settings) -> Database[dict[str, Any]]:
    """The database that the URL names, else `odradek`; does not connect yet. `.client.close()` lets go.

    Writes are acknowledged once they are in the journal, unless the URL says otherwise; instants are read as
    `DatetimeMS`. What the URL says wins.
    """
    url = settings.mongodb_url.get_secret_value()
    options: dict[str, Any] = {
        "appname": "odradek",
        "serverSelectionTimeoutMS": FIND_SERVER_S * 1000,
        "connectTimeoutMS": FIND_SERVER_S * 1000,
        "socketTimeoutMS": ANSWER_S * 1000,
        "datetime_conversion": "DATETIME_MS",
        "journal": True,
    }
    given = url.partition("?")[2].lower()
    client: MongoClient[dict[str, Any]] = MongoClient(
        url, **{name: value for name, value in options.items() if f"{name.lower()}=" not in given}
    )
    return client.get_default_database(DATABASE)


def connect_search(settings: Settings) -> Elasticsearch:
    """The search engine; does not connect yet. `.close()` lets go. Nothing is retried inside the client."""
    key = settings.elasticsearch_api_key
    optional: dict[str, Any] = {
        "api_key": None if key is None else key.get_secret_value(),
        "ca_certs": None if settings.elasticsearch_ca is None else str(settings.elasticsearch_ca),
    }
    return Elasticsearch(
        settings.elasticsearch_url,
        request_timeout=ANSWER_S,
        max_retries=0,
        retry_on_timeout=False,
        **{name: value for name, value in optional.items() if value is not None},
    )


def call_search(engine: Elasticsearch, method: str, path: str, body: dict[str, Any] | bytes | None = None) -> Any:
    """One request; bytes are NDJSON. Returns the decoded answer.

    Speaks the API of version 8, which servers 8 and 9 both understand whichever of the two the client is made for.

    Raises:
        elasticsearch.ApiError: the engine answered with an error status.
        elasticsearch.TransportError: it did not answer.
    """
    headers = {"accept": _JSON}
    if body is not None:
        headers["content-type"] = _LINES if isinstance(body, bytes) else _JSON
    return engine.perform_request(method, path, headers=headers, body=body).body
