"""Structured logs: one event name and bound fields, as JSON lines, or in colour on a terminal."""

import logging
import sys

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
