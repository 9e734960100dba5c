"""What every service's process does, seen from outside: its logs, its health port, its answer to signals."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from urllib.error import HTTPError

import pytest

from odradek.engines.engine import free_port
from odradek.errors import UserError
from odradek.kafka.metrics import RUNNERS
from odradek.runtime.health import serve_health
from odradek.settings import Settings

LOGGING = """
import logging, threading, structlog
from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
configure_logs(Settings(), "fetcher")
structlog.contextvars.bind_contextvars(url="https://books.example/")
log = structlog.get_logger()
log.info("fetched", status=200)
log.debug("unheard")
thread = threading.Thread(target=lambda: log.warning("partitions_lost", partitions=[1]))
thread.start()
thread.join()
logging.getLogger("librdkafka").error("broker %s down", "b1")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("bug")
"""

STOPPING = """
import asyncio
from odradek.runtime.lifecycle import run_until_stopped
from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
configure_logs(Settings(), "fetcher")
async def main(stop):
    print("up", flush=True)
    await stop.wait()
    print("draining", flush=True)
    await asyncio.sleep({drain_s})
raise SystemExit(run_until_stopped(main))
"""


def test_every_line_of_the_log_is_one_object_whoever_wrote_it() -> None:
    ran = subprocess.run([sys.executable, "-c", LOGGING], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in ran.stderr.splitlines()]
    told = [(line["event"], line["level"], line["service"], line.get("url")) for line in lines]
    assert told == [
        ("fetched", "info", "fetcher", "https://books.example/"),
        ("partitions_lost", "warning", "fetcher", None),
        ("broker b1 down", "error", "fetcher", "https://books.example/"),
        ("bug", "error", "fetcher", "https://books.example/"),
    ]
    assert "ZeroDivisionError" in lines[-1]["exception"]


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    code = STOPPING.format(drain_s=request.param)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


@pytest.mark.parametrize("process", [0.0], indirect=True)
def test_a_signal_drains_and_ends_well(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=10)
    assert (out, process.returncode) == ("draining\n", 0)


@pytest.mark.parametrize("process", [60.0], indirect=True)
def test_a_second_signal_ends_at_once(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "draining\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 128 + signal.SIGTERM


def answer(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return response.status, response.read().decode()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


class _ARunner:
    service, topic, finished, dead_letters, away = "fetcher", "scheduled", 7, 1, "MongoDB"
    in_hand = 3

    def lag(self) -> dict[int, int]:
        return {2: 40}


def test_the_health_port_says_what_is_missing_and_shows_every_runner() -> None:
    settings, missing = Settings(metrics_port=free_port()), ["no partitions yet"]
    runner = _ARunner()
    RUNNERS.add(runner)
    serve_health(settings, ready=lambda: missing[0] if missing else None)
    port = settings.metrics_port
    assert answer(port, "/health/live") == (200, '{"status": "ok", "detail": null}')
    assert answer(port, "/health/ready") == (503, '{"status": "waiting", "detail": "no partitions yet"}')
    missing.clear()
    assert answer(port, "/health/ready") == (200, '{"status": "ok", "detail": null}')
    assert answer(port, "/elsewhere")[0] == 404
    told = set(answer(port, "/metrics")[1].splitlines())
    assert told >= {
        'odradek_records_finished_total{service="fetcher",topic="scheduled"} 7.0',
        'odradek_records_dead_total{service="fetcher",topic="scheduled"} 1.0',
        'odradek_records_in_hand{service="fetcher",topic="scheduled"} 3.0',
        'odradek_engine_away{service="fetcher",topic="scheduled"} 1.0',
        'odradek_lag{partition="2",service="fetcher",topic="scheduled"} 40.0',
    }
    with pytest.raises(UserError, match=f"ODRADEK_METRICS_PORT {port} cannot be bound"):
        serve_health(settings, ready=lambda: None)
