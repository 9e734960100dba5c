"""Engines that let nobody in without certificate, user and password: the stack has all of them by settings.

ODRADEK_COMPOSE=1 make e2e ARGS="-s tests/e2e/test_compose_secure.py"
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.composing import WANTED, Stack, a_stack

pytestmark = WANTED

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


def certificates(folder: Path) -> Path:
    """An authority, a broker that is called kafka, a client; readable, because containers run as other users."""
    folder.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(("openssl", *arguments), cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", *CURVE, "-subj", "/CN=Authority of a test", "-keyout", "ca-key.pem", "-out", "ca.pem")
    for name in ("kafka", "client"):
        (folder / "names").write_text(f"subjectAltName=DNS:{name}")
        openssl("req", *CURVE, "-subj", f"/CN={name}", "-keyout", f"{name}-key.pem", "-out", "asked.pem")
        openssl(
            "x509", "-req", "-in", "asked.pem", "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-days", "2",
            "-extfile", "names", "-out", f"{name}-certificate.pem",
        )  # fmt: skip
    both = (folder / "kafka-key.pem").read_text() + (folder / "kafka-certificate.pem").read_text()
    (folder / "kafka.pem").write_text(both)
    for path in folder.iterdir():
        path.chmod(0o644)
    return folder


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("secure")
    folder.chmod(0o755)
    variables = {
        "ODRADEK_CERTIFICATES": str(certificates(folder / "certificates")),
        "ODRADEK_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "ODRADEK_KAFKA_SECURITY_MECHANISM": "PLAIN",
        "ODRADEK_KAFKA_SECURITY_USERNAME": "crawler",
        "ODRADEK_KAFKA_SECURITY_PASSWORD": "a secret",
        "ODRADEK_KAFKA_SECURITY_CA": "/certificates/ca.pem",
        "ODRADEK_KAFKA_SECURITY_CERTIFICATE": "/certificates/client-certificate.pem",
        "ODRADEK_KAFKA_SECURITY_KEY": "/certificates/client-key.pem",
        "MONGODB_USERNAME": "crawler",
        "MONGODB_PASSWORD": "another-secret",
    }
    overlays = ("compose/certificates.yaml", "tests/e2e/compose-secure.yaml")
    with a_stack(folder, *overlays, variables=variables) as found:
        yield found


def test_a_job_is_crawled_through_tls_sasl_and_users(stack: Stack) -> None:
    stack.finished(stack.submit())
    print(stack.compose("exec", "-T", "api", "odradek", "doctor"))  # noqa: T201  (figures)


@pytest.mark.parametrize("missing", ["ODRADEK_KAFKA_SECURITY_PASSWORD", "ODRADEK_MONGODB_URL"])
def test_without_the_secret_nobody_gets_in(stack: Stack, missing: str) -> None:
    wrong = {"ODRADEK_KAFKA_SECURITY_PASSWORD": "guessed", "ODRADEK_MONGODB_URL": "mongodb://mongodb:27017"}[missing]
    said = stack.compose("exec", "-T", "-e", f"{missing}={wrong}", "api", "odradek", "doctor", quiet=True)
    print(said)  # noqa: T201  (figures)
    assert "secret" not in said
    assert said != stack.compose("exec", "-T", "api", "odradek", "doctor")
