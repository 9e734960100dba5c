"""Structured logs: one event name and bound fields, as JSON lines, or in colour on a terminal."""

import logging
import re
import sys
import time
from collections.abc import Callable

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from odradek.settings import Settings

NOISY = (
    "httpx",
    "httpcore",
    "elastic_transport",
    "pymongo",
    "hpack",
    "aiokafka",
    "faust",
    "mode",
    "librdkafka",
    "asyncio",
)
"""Libraries of which only warnings are news."""
REPEATING = ("librdkafka", "aiokafka")
"""Libraries that say the same of every attempt while a broker is away, for each of a process's clients."""
MOST_KINDS = 1000


class Sparing(logging.Filter):
    """Lets what these libraries say through once in so many seconds, with how often they said it meanwhile.

    What differs in numbers only is the same.
    """

    def __init__(self, every_s: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._every_s, self._clock = every_s, clock
        self._said: dict[str, tuple[float, int]] = {}
        """By what was said: when it was let through, and how often it was not since."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True: it is said."""
        if record.name.partition(".")[0] not in REPEATING:
            return True
        text, now = record.getMessage(), self._clock()
        kind = re.sub(r"\d+", "", text)
        at_s, held = self._said.get(kind, (now - self._every_s, 0))
        if now - at_s < self._every_s:
            self._said[kind] = at_s, held + 1
            return False
        if len(self._said) >= MOST_KINDS:
            self._said.clear()
        self._said[kind] = now, 0
        if held:
            record.msg, record.args = f"{text} ({held} more like this since the last)", ()
        return True


def configure_logs(settings: Settings, service: str) -> None:
    """Route our own log and those of libraries to standard error in one form; called once, by the process."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        _of(service),
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(sys.stderr.isatty())],
        )
    )
    handler.addFilter(Sparing())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for noisy in NOISY:
        logging.getLogger(noisy).setLevel(max(logging.WARNING, level))


def _rendering(on_terminal: bool) -> list[Processor]:  # noqa: FBT001  (what isatty says)
    if on_terminal:
        # The other formatters print local variables, and with them the credentials of jobs
        return [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]


def _of(service: str) -> Processor:
    """The service's name in every line, whichever thread writes it (context variables stay in their thread)."""

    def named(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event.setdefault("service", service)
        return event

    return named
