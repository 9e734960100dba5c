"""The parser as it is, with less patience for a page: `python -m tests.drill.parser`."""

import os
import sys
from functools import partial

from odradek.runtime.lifecycle import run_until_stopped
from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
from odradek_parser.core.facts import SERVICE
from odradek_parser.guard import ProcessGuard, limit_memory
from odradek_parser.service import serve

PAGE_S = 1.5
"""CPU seconds for one page, where the parser gives 30."""


def main() -> int:
    settings = Settings.read(os.environ)
    configure_logs(settings, SERVICE)
    limit_memory(2 * 1024**3)
    guard = ProcessGuard(settings.state_dir / f"parser-{settings.instance}.page", PAGE_S)
    return run_until_stopped(partial(serve, settings, guard=guard))


if __name__ == "__main__":
    sys.exit(main())
