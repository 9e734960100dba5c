"""What the fetcher needs beyond the settings that all services share; none of it is read from the environment."""

from odradek.kafka.window import Window
from odradek.settings import Settings
from odradek_fetcher.core.answers import Limits

LIMITS = Limits()

HELD_BYTES = 256 * 1024 * 1024
"""Bodies that wait for Kafka's acknowledgement; above, no fetch starts."""


def user_agent(settings: Settings) -> str:
    """What sites are told when a job says nothing: product token and, if there is one, the address of who crawls."""
    return settings.user_agent if settings.contact_url is None else f"{settings.user_agent} (+{settings.contact_url})"


def window(concurrency: int) -> Window:
    """Requests in hand: those being carried out, those whose pages are on their way to Kafka, and the next ones."""
    return Window(records=3 * concurrency + 64, size_bytes=32 * 1024 * 1024)
