"""Structured logs: one event name and bound fields, as JSON lines, or in colour on a terminal."""

import logging
import sys

import structlog

from odradek.settings import Settings


def configure_logs(settings: Settings, service: str) -> None:
    """Route our own log and those of libraries to standard error in one form; called once, by the process."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    on_terminal = sys.stderr.isatty()
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if on_terminal else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    for noisy in ("httpx", "httpcore", "elastic_transport", "pymongo", "hpack", "aiokafka", "faust", "mode"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))
    structlog.contextvars.bind_contextvars(service=service)
