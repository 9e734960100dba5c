"""The document store's client: bounded waits, writes acknowledged from the journal, one spelling of instants."""

from typing import Any

from pymongo import MongoClient
from pymongo.database import Database
from pymongo.errors import ConfigurationError

from odradek.errors import UserError
from odradek.settings import Settings

DATABASE = "odradek"
ANSWER_S = 30
FIND_SERVER_S = 5


def connect_documents(settings: Settings) -> Database[dict[str, Any]]:
    """The database that the URL names, else `odradek`; does not connect yet. `.client.close()` lets go.

    Writes are acknowledged once they are in the journal; instants are read as `DatetimeMS`. What the URL says wins.

    Raises:
        UserError: the URL is wrong.
    """
    url = settings.mongodb_url.get_secret_value()
    options: dict[str, Any] = {
        "appname": "odradek",
        "serverSelectionTimeoutMS": FIND_SERVER_S * 1000,
        "connectTimeoutMS": FIND_SERVER_S * 1000,
        "socketTimeoutMS": ANSWER_S * 1000,
        "datetime_conversion": "DATETIME_MS",
        "journal": True,
        "retryWrites": False,  # sent again to a server that came back, a write hides that those before it are lost
    }
    given = url.partition("?")[2].lower()
    wanted = {name: value for name, value in options.items() if f"{name.lower()}=" not in given}
    try:
        client: MongoClient[dict[str, Any]] = MongoClient(url, **wanted)
        return client.get_default_database(DATABASE)
    except (ConfigurationError, ValueError) as error:
        raise UserError(f"ODRADEK_MONGODB_URL is wrong: {error}.") from None
