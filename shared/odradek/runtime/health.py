"""A small HTTP port of each service: /health/live, /health/ready and /metrics."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from odradek.errors import UserError
from odradek.settings import Settings

Check = Callable[[], str | None]
"""None: well. Otherwise what is missing, in a few words."""


def serve_health(settings: Settings, *, ready: Check, live: Check = lambda: None) -> None:
    """Answer on the settings' metrics port in a thread of its own; without a port do nothing.

    Raises:
        UserError: the port is taken.
    """
    if not settings.metrics_port:
        return

    class Handler(BaseHTTPRequestHandler):
        """Answers from the two checks and the metrics registry."""

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest())
            elif self.path in ("/health/live", "/health/ready"):
                problem = (ready if self.path.endswith("ready") else live)()
                body = json.dumps({"status": "ok" if problem is None else "waiting", "detail": problem}).encode()
                self._answer(200 if problem is None else 503, "application/json", body)
            else:
                self._answer(404, "application/json", b'{"status": "no such page"}')

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Probes are not worth a line."""

    try:
        server = ThreadingHTTPServer((settings.metrics_host, settings.metrics_port), Handler)
    except OSError as error:
        raise UserError(
            f"ODRADEK_METRICS_PORT {settings.metrics_port} cannot be bound: {error.strerror}.", exit_code=1
        ) from None
    Thread(target=server.serve_forever, name="health", daemon=True).start()
