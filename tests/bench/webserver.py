"""The catalogue as files behind nginx: serving costs next to nothing, so that the crawler is what is measured."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from tests.chaos.cluster import until

from odradek.engines.engine import http_answers
from odradek.testing.site import ROBOTS, Catalogue

CONFIG = """
daemon off;
worker_processes 1;
pid {run}/pid;
error_log {run}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  sendfile on;
  keepalive_requests 1000000;
  types {{ text/html html; text/plain txt; }}
  client_body_temp_path {run}/b;
  proxy_temp_path {run}/p;
  fastcgi_temp_path {run}/f;
  uwsgi_temp_path {run}/u;
  scgi_temp_path {run}/s;
  server {{ listen {port} backlog=4096; root {root}; charset utf-8; }}
}}
"""
DEADLINE_S = 10


def write_pages(catalogue: Catalogue, root: Path) -> None:
    """Every page and robots.txt as files, for nginx too, which reads as another user when root has started it."""
    root.parent.chmod(0o755)
    (root / "p").mkdir(parents=True)
    (root / "robots.txt").write_bytes(ROBOTS)
    for page in range(catalogue.pages):
        (root / "p" / f"{page}.html").write_bytes(catalogue.body(page))


@asynccontextmanager
async def serving(root: Path, port: int) -> AsyncIterator[int]:
    """nginx over a folder, on every loopback address; its process id."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin")
    if program is None:
        raise SystemExit("nginx serves the site and is not installed here; Debian's package is nginx-light.")
    run = root.parent / "nginx"
    run.mkdir(exist_ok=True)
    (run / "nginx.conf").write_text(CONFIG.format(run=run, port=port, root=root))
    process = await asyncio.create_subprocess_exec(program, "-c", str(run / "nginx.conf"))
    try:
        answers = partial(asyncio.to_thread, http_answers, port, "/robots.txt")
        await until(answers, DEADLINE_S, lambda: f"nginx does not answer on port {port}")
        yield process.pid
    finally:
        process.terminate()
        await process.wait()
