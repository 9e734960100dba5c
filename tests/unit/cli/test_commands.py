"""Commands that speak to the gateway, against one that keeps what it is asked; and those that need none."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from odradek.cli.asking import told_first
from odradek.cli.doctor import examine
from odradek.cli.jobs import patch_of
from odradek.cli.main import COMMANDS, application
from odradek.cli.rest import Rest, segment
from odradek.cli.tables import show
from odradek.cli.up import exports_of
from odradek.engines.stack import StackOptions
from odradek.errors import InfrastructureAway, UserError

CLOSED = "http://127.0.0.1:1"


class Gateway:
    """Answers every request with what a test wants, on loopback."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bytes]] = []
        self.keys: list[str | None] = []
        self.status = 200
        self.answer: Any = {}
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                gateway.asked.append((self.command, self.path, self._body()))
                gateway.keys.append(self.headers.get("idempotency-key"))
                content = gateway.answer if isinstance(gateway.answer, bytes) else json.dumps(gateway.answer).encode()
                self.send_response(gateway.status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815  (the library's names)

            def _body(self) -> bytes:
                if self.headers.get("transfer-encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("content-length") or 0))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    gateway = Gateway()
    thread = Thread(target=gateway.server.serve_forever, args=(0.01,))
    thread.start()
    yield gateway
    gateway.server.shutdown()
    thread.join()
    gateway.server.server_close()


def run(*arguments: str, **env: str) -> Any:
    return CliRunner().invoke(application(arguments), arguments, env=env)


def test_every_command_is_found_with_and_without_the_others() -> None:
    whole = run("--help").output
    for name in COMMANDS:
        assert name in whole
        assert run(name, "--help").exit_code == 0


def test_the_help_says_of_each_command_what_the_command_says_of_itself() -> None:
    for name, command in COMMANDS.items():
        said = " ".join(run(name, "--help").output.split())
        assert command.help.removesuffix(".") in said, name


def test_the_help_imports_no_command() -> None:
    code = "import sys; from odradek.cli.main import application; application(['--help']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"pydantic", "httpx", "msgspec", "importlib.metadata", "odradek.settings"} & set(loaded)


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (("jobs", "show", "j"), ("GET", "/v1/jobs/j", b"")),
        (("jobs", "pause", "j"), ("POST", "/v1/jobs/j/pause", b"")),
        (("jobs", "retry-failed", "j", "--reason", "dns"), ("POST", "/v1/jobs/j/retry-failed?reason=dns", b"")),
        (("jobs", "reparse", "j"), ("POST", "/v1/jobs/j/reparse", b"")),
        (("jobs", "runs", "j"), ("GET", "/v1/jobs/j/runs", b"")),
        (("jobs", "runs", "j", "--begin"), ("POST", "/v1/jobs/j/runs", b"")),
        (("jobs", "freshness", "j", "--within", "8h"), ("GET", "/v1/jobs/j/freshness?within=8h", b"")),
        (("jobs", "set", "j", "scope.max_pages=5"), ("PATCH", "/v1/jobs/j", b'{"scope":{"max_pages":5}}')),
        (("explain", "j", "https://a.example/"), ("GET", "/v1/explain?job=j&url=https%3A%2F%2Fa.example%2F", b"")),
        (("hosts", "show", "a.example"), ("GET", "/v1/hosts/a.example", b"")),
        (("logs", "--job", "j", "--facets"), ("GET", "/v1/logs/facets?job=j", b"")),
        (("logs", "--job", "j", "--run", "3"), ("GET", "/v1/logs?job=j&run=3&limit=100", b"")),
    ],
)
def test_a_command_is_its_route(gateway: Gateway, arguments: tuple[str, ...], asked: tuple[str, str, bytes]) -> None:
    gateway.answer = {"job_id": "j"}

    result = run(*arguments, "--api", gateway.url)

    assert (result.exit_code, gateway.asked) == (0, [asked])
    assert json.loads(result.output) == {"job_id": "j"}


def test_a_job_is_submitted_with_the_flags_of_a_crawl(gateway: Gateway) -> None:
    gateway.answer = {"job_id": "j"}
    flags = ("--max-pages", "5", "--max-depth", "2", "--delay", "0.2s")

    assert run("jobs", "submit", "https://a.example/", *flags, "--api", gateway.url).exit_code == 0

    ((method, path, body),) = gateway.asked
    assert (method, path, json.loads(body)) == (
        "POST", "/v1/jobs",
        {"name": "a.example", "seeds": [{"url": "https://a.example/"}], "scope": {"max_pages": 5, "max_depth": 2},
         "politeness": {"delay": 0.2}},
    )  # fmt: skip


@pytest.mark.parametrize(("balanced", "code"), [(True, 0), (False, 1)])
def test_an_audit_that_does_not_balance_is_an_exit_code(gateway: Gateway, balanced: bool, code: int) -> None:  # noqa: FBT001  (a row)
    gateway.answer = {"balanced": balanced}

    assert run("jobs", "audit", "j", "--recount", "--api", gateway.url).exit_code == code
    assert gateway.asked[0][1] == "/v1/jobs/j/audit?recount=true"


def test_seeds_are_streamed_from_a_file_and_refusals_are_an_exit_code(gateway: Gateway, tmp_path: Path) -> None:
    gateway.answer = {"received": 1, "rejected": [], "rejected_total": 1}
    (tmp_path / "seeds.txt").write_text("https://a.example/\nx\n")

    result = run("jobs", "seeds", "j", "--file", str(tmp_path / "seeds.txt"), "--api", gateway.url)

    assert (result.exit_code, gateway.asked) == (1, [("POST", "/v1/jobs/j/seeds", b"https://a.example/\nx\n")])


def test_a_problem_document_is_one_sentence_and_an_exit_code(gateway: Gateway) -> None:
    gateway.status, gateway.answer = 404, {"detail": "There is no job 'j'."}

    with Rest(gateway.url) as rest, pytest.raises(UserError, match=r"There is no job 'j'\.") as raised:
        rest.get("/v1/jobs/j")
    assert raised.value.exit_code == 1
    gateway.status = 422
    with Rest(gateway.url) as rest, pytest.raises(UserError) as raised:
        rest.get("/v1/jobs/j")
    assert raised.value.exit_code == 2


def test_a_gateway_that_is_away_is_said_with_the_way_out() -> None:
    with Rest(CLOSED) as rest, pytest.raises(InfrastructureAway, match="odradek up"):
        rest.get("/v1/jobs")
    with Rest(CLOSED) as rest, pytest.raises(InfrastructureAway), rest.lines("/v1/jobs/j/export"):
        pass


def test_exported_lines_end_at_line_feeds_alone(gateway: Gateway) -> None:
    gateway.answer = '{"a": "x\u2028y\u0085z"}\n{"b": 1}\n'.encode()

    with Rest(gateway.url) as rest, rest.lines("/v1/jobs/j/export") as lines:
        assert list(lines) == ['{"a": "x\u2028y\u0085z"}', '{"b": 1}']


def test_assignments_are_a_merge_patch_of_yaml_values() -> None:
    changes = ["scope.max_pages=5", "scope.max_depth=null", "politeness.delay=2s", "scope.exclude=[a, b]"]

    assert patch_of(changes) == {
        "scope": {"max_pages": 5, "max_depth": None, "exclude": ["a", "b"]},
        "politeness": {"delay": "2s"},
    }


@pytest.mark.parametrize("change", ["scope", "=5", "scope..x=5", "a=[", ""])
def test_what_changes_nothing_is_refused(change: str) -> None:
    with pytest.raises(UserError):
        patch_of([change])


def test_a_value_and_a_mapping_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="twice"):
        patch_of(["scope=5", "scope.max_pages=5"])


def test_a_new_key_is_shown_once_with_the_hash_that_the_gateway_wants() -> None:
    first = json.loads(run("keys", "new", "alice").output)
    second = json.loads(run("keys", "new", "alice").output)

    assert first["entry"] == f"alice:{hashlib.sha256(first['key'].encode()).hexdigest()}"
    assert first["key"] != second["key"]


@pytest.mark.parametrize(("name", "known", "said"), [("a:b", "", "no name"), ("alice", f"alice:{'0' * 64}", "already")])
def test_a_name_that_cannot_be_used_is_refused(name: str, known: str, said: str) -> None:
    result = run("keys", "new", name, ODRADEK_API_KEYS=known)

    assert isinstance(result.exception, UserError)
    assert said in str(result.exception)


def test_keys_are_listed_without_what_could_be_used() -> None:
    result = run("keys", "list", ODRADEK_API_KEYS=f"alice:{'0' * 64},bob:{'1' * 64}")

    assert [each["name"] for each in json.loads(result.output)] == ["alice", "bob"]
    assert "0" * 20 not in result.output


def test_the_doctor_says_what_is_ill_and_what_to_do() -> None:
    environ = {
        "ODRADEK_KAFKA_BOOTSTRAP": "127.0.0.1:1",
        "ODRADEK_MONGODB_URL": "mongodb://user:secret@127.0.0.1:1",
        "ODRADEK_ELASTICSEARCH_URL": CLOSED,
    }

    findings = {each.what: each for each in examine(environ, CLOSED)}

    assert [name for name, each in findings.items() if not each.ok] == ["kafka", "mongodb", "elasticsearch", "gateway"]
    assert all(each.remedy for each in findings.values() if not each.ok)
    assert "ODRADEK_CONTACT_URL" in (findings["settings"].remedy or "")
    assert "secret" not in str(findings)


def test_the_doctor_stops_at_a_setting_that_cannot_be_read() -> None:
    (finding,) = examine({"ODRADEK_PARTITIONS": "many"}, CLOSED)

    assert (finding.ok, "ODRADEK_PARTITIONS" in finding.detail) == (False, True)


def test_a_list_of_seeds_goes_with_its_idempotency_key(gateway: Gateway, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("https://a.example/\n")
    gateway.answer = {"received": 1, "rejected": [], "rejected_total": 0}
    arguments = ["jobs", "seeds", "j", "--file", str(tmp_path / "seeds.txt"), "--key", "k", "--api", gateway.url]
    result = CliRunner().invoke(application(arguments), arguments)

    assert (result.exit_code, json.loads(result.stdout)["received"]) == (0, 1)
    assert gateway.keys == ["k"]


def test_a_key_is_for_one_list_alone(gateway: Gateway) -> None:
    arguments = ["jobs", "seeds", "j", "https://a.example/", "--file", "-", "--key", "k", "--api", gateway.url]
    result = CliRunner().invoke(application(arguments), arguments)

    assert isinstance(result.exception, UserError)
    assert gateway.asked == []


def test_changes_and_webhooks_are_asked_of_the_gateway(gateway: Gateway) -> None:
    gateway.answer = {"data": [], "next_cursor": "c", "at_end": True, "lost": 0}
    for arguments in (["jobs", "changes", "j", "--since", "1h"], ["jobs", "webhooks", "j"]):
        result = CliRunner().invoke(application(arguments), [*arguments, "--api", gateway.url])
        assert (result.exit_code, json.loads(result.stdout)) == (0, gateway.answer)

    assert [path for _, path, _ in gateway.asked] == ["/v1/jobs/j/changes?since=1h&limit=100", "/v1/jobs/j/webhooks"]


@pytest.mark.parametrize("job", ["../../health/live", "a?b=c#d", "a/b", "%2e"])
def test_an_id_stays_one_piece_of_the_address(gateway: Gateway, job: str) -> None:
    run("jobs", "show", job, "--api", gateway.url)

    ((_, path, _),) = gateway.asked
    assert path == f"/v1/jobs/{segment(job)}"
    assert path.count("/") == 3
    assert "?" not in path


@pytest.mark.parametrize("job", ["", ".", ".."])
def test_what_leads_elsewhere_is_no_id(gateway: Gateway, job: str) -> None:
    assert isinstance(run("jobs", "show", job, "--api", gateway.url).exception, UserError)
    assert gateway.asked == []


@pytest.mark.parametrize("key", ["schl\u00fcssel", "a\nb: c", "key\x7f", " "])
def test_a_key_that_no_header_can_hold_is_said_before_anything_is_sent(gateway: Gateway, key: str) -> None:
    for result in (
        run("jobs", "list", "--api", gateway.url, ODRADEK_API_KEY=key),
        run("jobs", "submit", "https://a.example/", "--key", key, "--api", gateway.url),
    ):
        assert isinstance(result.exception, UserError)
    assert gateway.asked == []


@pytest.mark.parametrize("api", ["ftp://a.example", "http://[::1", "127.0.0.1:8000", "http://"])
def test_what_is_no_address_of_a_gateway_is_said(api: str) -> None:
    assert isinstance(run("jobs", "list", "--api", api).exception, UserError)


def test_what_sites_say_steers_no_terminal_and_is_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    said = "https://a.example/a[/b][red]:smile:\x1b[31m\u202e"

    show([{"url": said}], as_json=False)

    assert "https://a.example/a[/b][red]:smile:\\x1b[31m\\u202e" in capsys.readouterr().out


def test_a_person_sees_first_what_has_become_of_a_url_and_instants_as_such(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    url = "https://a.example/x"
    found = {
        "url": url, "canonical": url, "sentence": "as a link it would be accepted", "refusal": None,
        "frontier": {
            "url": url, "state": "skipped", "reason": "robots", "status": None,
            "robots": {"state": "denied", "rule": "Disallow: /x (line 2)"},
            "next": {"verdict": "ended", "why": "It has ended: skipped.", "due_ms": 1_796_046_431_578},
        },
    }  # fmt: skip

    show(told_first(found), as_json=False)

    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert [(name, value.strip()) for name, value in rows] == [
        ("url", url), ("state", "skipped"), ("why", "It has ended: skipped."), ("reason", "robots"),
        ("robots", "Disallow: /x (line 2)"), ("scope", "as a link it would be accepted"),
        ("due_ms", "2026-11-30T13:47:11.578Z"), ("canonical", url),
    ]  # fmt: skip


def test_up_names_the_engines_that_it_has_started_itself() -> None:
    env = {
        name: f"at {name}" for name in ("ODRADEK_KAFKA_BOOTSTRAP", "ODRADEK_MONGODB_URL", "ODRADEK_ELASTICSEARCH_URL")
    }
    options = StackOptions(folder=Path("up"), environ={}, mongodb="mongodb://user:word@elsewhere")

    assert exports_of(options, env) == (
        "ODRADEK_KAFKA_BOOTSTRAP=at ODRADEK_KAFKA_BOOTSTRAP ODRADEK_ELASTICSEARCH_URL=at ODRADEK_ELASTICSEARCH_URL"
    )
