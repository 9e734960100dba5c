"""What the parser needs beyond the settings that all services share; none of it is read from the environment."""

from odradek.kafka.window import Window

BATCH = 64
"""Pages handled before the event loop turns: about 60 ms."""
WINDOW = Window(records=1000, size_bytes=64 * 1024 * 1024)
"""Pages in hand: being parsed, and waiting for Kafka's acknowledgement."""
REPARSE_WINDOW = Window(records=200, size_bytes=16 * 1024 * 1024)
"""The same for pages that are read again: less, so that what comes in goes first."""
