"""All that the environment decides, read once at the start of a process; a wrong value is refused by name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from odradek.errors import UserError
from odradek.topics import DEFAULT_PARTITIONS, DEFAULT_PREFIX
from odradek.units import duration_s, size_bytes

PREFIX = "ODRADEK_"
OF_COMMANDS = frozenset(("ODRADEK_API_KEY", "ODRADEK_API_URL"))
"""Variables that only commands read: where the gateway is, and which key it is shown."""


def _durations(text: Any) -> Any:
    if isinstance(text, str):
        return tuple(duration_s(part) for part in text.split(",") if part.strip())
    return text


def _words(text: Any) -> Any:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if isinstance(text, str) else text


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


class Settings(BaseModel):
    """Every variable `ODRADEK_…`; the name of a field in capitals is the rest of the variable's name."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kafka_bootstrap: str = "127.0.0.1:9092"
    """Kafka brokers, HOST:PORT, separated by commas."""
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How brokers are spoken to."""
    kafka_security_ca: Path | None = None
    """PEM file of the authority that signed the brokers' certificates."""
    kafka_security_certificate: Path | None = None
    """PEM file of the client's certificate."""
    kafka_security_key: Path | None = None
    """PEM file of the client's private key."""
    kafka_security_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    """SASL mechanism."""
    kafka_security_username: str | None = None
    """SASL user."""
    kafka_security_password: SecretStr | None = None
    """SASL password."""
    mongodb_url: SecretStr = SecretStr("mongodb://127.0.0.1:27017")
    """Where items are stored; the database is `odradek` unless the URL names one."""
    elasticsearch_url: str = Field(default="http://127.0.0.1:9200", repr=False)
    """Where crawl events are searched; several nodes of one cluster are separated by commas."""
    elasticsearch_api_key: SecretStr | None = None
    """API key of Elasticsearch."""
    elasticsearch_ca: Path | None = None
    """PEM file of the authority that signed Elasticsearch's certificate."""
    topic_prefix: str = Field(default=DEFAULT_PREFIX, pattern=r"^[A-Za-z0-9._-]*$")
    """Before every topic and consumer group, so that stacks can share a cluster."""
    partitions: int = Field(default=DEFAULT_PARTITIONS, ge=1, le=10_000)
    """Of every topic that is not `jobs`, when `odradek topics` creates it."""
    replication: int = Field(default=-1, ge=-1)
    """Replicas of every topic; -1: the broker's default."""
    state_dir: Path = Path(".odradek")
    """Folder of the scheduler's local tables, a cache of its changelog topics."""
    instance: str = "0"
    """Name of this process among its like; two schedulers on one machine need two."""
    api_keys: Words = ()
    """NAME:SHA-256 of the keys that the gateway accepts, separated by commas."""
    api_key_file: Path | None = None
    """File with a key in clear, of `odradek keys init`: accepted without ODRADEK_API_KEYS, and sent by commands."""
    api_host: str = "127.0.0.1"
    """Address the gateway binds; beyond loopback it wants keys."""
    api_port: int = Field(default=8000, ge=0, le=65_535)
    """Port of the gateway."""
    api_rate: float = Field(default=50.0, ge=0)
    """Requests a second that each key may make, twice as many in a burst; 0: no limit. Without keys none is counted."""
    api_max_body: Annotated[int, BeforeValidator(size_bytes)] = 32 * 1024 * 1024
    """Bytes of a JSON body, such as 32MiB."""
    api_max_seeds: Annotated[int, BeforeValidator(size_bytes)] = 4 * 1024**3
    """Bytes of one streamed list of seeds, such as 4GiB."""
    insecure: bool = False
    """Bind beyond loopback without keys all the same."""
    metrics_port: int = Field(default=0, ge=0, le=65_535)
    """Port of /health/live, /health/ready and /metrics; 0: none."""
    metrics_host: str = "127.0.0.1"
    """Address of that port."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level that is written."""
    user_agent: str = "Odradek/0.1"
    """Product token sent to sites and looked up in robots.txt."""
    contact_url: str | None = None
    """Where a site's owner can learn who crawls; sent with the user agent."""
    allow_private_networks: bool = False
    """Let the fetcher connect to addresses that are not public."""
    fetch_concurrency: int = Field(default=64, ge=1, le=10_000)
    """Requests that one fetcher has open at once."""
    retry_delays: Annotated[tuple[float, ...], BeforeValidator(_durations)] = (5.0, 30.0, 300.0, 3600.0)
    """Waits before a failed URL is tried again, such as 5s,30s,5m,1h; the last one repeats."""
    plugins: Words = ()
    """Plugins that jobs may name, as package.module:function."""
    in_flight: int = Field(default=512, ge=1)
    """Requests that one scheduler has sent and no fetcher has answered yet: what Kafka holds is bounded by it."""
    unparsed_lease: Annotated[float, BeforeValidator(duration_s)] = 900.0
    """Seconds that a fetched page may wait for a parser, beyond its request's lease, until it is fetched again."""
    session_timeout: Annotated[float, BeforeValidator(duration_s)] = 10.0
    """Seconds after which a silent member of a consumer group is taken for dead."""
    drain: Annotated[float, BeforeValidator(duration_s)] = 20.0
    """Seconds that a stopping service gives to work in hand."""
    archive_dir: Path = Path("archive")
    """Folder below which jobs may keep archives of their pages; buckets are not bound to it."""
    log_events_max: int = Field(default=0, ge=0)
    """Crawl events kept in the search engine, oldest deleted first; 0: the engine's own policy decides."""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """The settings in an environment; variables of others are ignored, unknown ones of ours refused.

        Raises:
            UserError: names the variable and what is wrong with it.
        """
        given = {
            name.removeprefix(PREFIX).lower(): value
            for name, value in environ.items()
            if name.startswith(PREFIX) and name not in OF_COMMANDS and value != ""
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            name = PREFIX + str(first["loc"][0]).upper()
            if first["type"] == "extra_forbidden":
                raise UserError(f"{name} is no setting of Odradek; see docs/settings.md for those that are.") from None
            message = str(first["msg"]).removeprefix("Value error, ")
            raise UserError(f"{name} is wrong: {message}.") from None

    def topic(self, name: str) -> str:
        """A topic's full name."""
        return self.topic_prefix + name

    def group(self, name: str) -> str:
        """A consumer group's full name."""
        return self.topic_prefix + name
