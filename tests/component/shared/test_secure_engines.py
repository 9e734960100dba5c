"""What the settings say of TLS, users and keys reaches each client of an engine."""

import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import faust
import pytest
from pymongo import MongoClient

from odradek.errors import InfrastructureAway
from odradek.kafka.client import connection_config, consumer_config, producer_config
from odradek.settings import Settings
from odradek.stores import connect_documents, connect_search
from odradek_scheduler.transport import credentials

SASL = {
    "ODRADEK_KAFKA_BOOTSTRAP": "one:9092,two:9092",
    "ODRADEK_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    "ODRADEK_KAFKA_SECURITY_MECHANISM": "SCRAM-SHA-512",
    "ODRADEK_KAFKA_SECURITY_USERNAME": "crawler",
    "ODRADEK_KAFKA_SECURITY_PASSWORD": "a secret",
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with key.pem and certificate.pem of localhost, signed by itself."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"),
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


def secured(folder: Path) -> Settings:
    """SASL within TLS, with a certificate of the client."""
    return Settings.read(SASL | {
        "ODRADEK_KAFKA_SECURITY_CA": str(folder / "certificate.pem"),
        "ODRADEK_KAFKA_SECURITY_CERTIFICATE": str(folder / "certificate.pem"),
        "ODRADEK_KAFKA_SECURITY_KEY": str(folder / "key.pem"),
    })  # fmt: skip


def test_librdkafka_is_given_all_of_them(certificate: Path) -> None:
    settings = secured(certificate)
    wanted = {
        "bootstrap.servers": "one:9092,two:9092",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(certificate / "certificate.pem"),
        "ssl.certificate.location": str(certificate / "certificate.pem"),
        "ssl.key.location": str(certificate / "key.pem"),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "crawler",
        "sasl.password": "a secret",
    }
    for config in (connection_config(settings), consumer_config(settings, "fetcher"), producer_config(settings)):
        assert {name: config.get(name) for name in wanted} == wanted


def test_faust_is_given_all_of_them(certificate: Path) -> None:
    found = credentials(secured(certificate))
    assert isinstance(found, faust.SASLCredentials)
    assert (found.protocol.value, found.mechanism.value) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (found.username, found.password) == ("crawler", "a secret")
    assert [each["subject"] for each in found.ssl_context.get_ca_certs()] == [((("commonName", "localhost"),),)]


def test_without_them_kafka_is_spoken_to_in_plain_text() -> None:
    assert credentials(Settings.read({})) is None
    assert connection_config(Settings.read({}))["security.protocol"] == "PLAINTEXT"


@contextmanager
def an_elasticsearch(folder: Path, asked: list[str | None]) -> Iterator[str]:
    """An address behind TLS that answers who it is, and notes what it is shown."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("Authorization"))
            body = b'{"version": {"number": "9.2.1"}}'
            self.send_response(200)
            for name, value in (
                ("X-Elastic-Product", "Elasticsearch"),
                ("Content-Type", "application/vnd.elasticsearch+json;compatible-with=9"),
                ("Content-Length", str(len(body))),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """It is quiet."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"https://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def search_settings(address: str, **more: str) -> Settings:
    """An Elasticsearch at this address, with a key."""
    return Settings.read({"ODRADEK_ELASTICSEARCH_URL": address, "ODRADEK_ELASTICSEARCH_API_KEY": "a2V5", **more})


def test_elasticsearch_is_shown_the_key_within_tls_of_the_authority(certificate: Path) -> None:
    asked: list[str | None] = []
    with an_elasticsearch(certificate, asked) as address:
        engine = connect_search(search_settings(address, ODRADEK_ELASTICSEARCH_CA=str(certificate / "certificate.pem")))
        assert engine.call("GET", "/")["version"] == {"number": "9.2.1"}
        engine.close()
    assert asked == ["ApiKey a2V5"]


def test_an_elasticsearch_of_an_unknown_authority_is_shown_no_key(certificate: Path) -> None:
    asked: list[str | None] = []
    with an_elasticsearch(certificate, asked) as address:
        engine = connect_search(search_settings(address))
        with pytest.raises(InfrastructureAway, match="certificate"):
            engine.call("GET", "/")
        engine.close()
    assert asked == []


def test_mongodb_is_given_user_password_and_tls_of_its_url() -> None:
    address = "mongodb://crawler:a%20secret@localhost:27017/crawl?tls=true&authSource=admin&w=majority"
    with connect_documents(Settings.read({"ODRADEK_MONGODB_URL": address})).client as client:
        assert isinstance(client, MongoClient)
        user = client.options._options["authsource"], client.options.pool_options._credentials
        assert user[0] == "admin"
        assert (user[1].username, user[1].password) == ("crawler", "a secret")
        assert client.options.pool_options._ssl_context is not None
        assert client.write_concern.document == {"w": "majority", "j": True}
