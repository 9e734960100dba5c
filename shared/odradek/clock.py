"""The clock of a process, read in shells only; cores are told what time it is."""

import time


def now_ms() -> int:
    """Milliseconds since 1970, UTC."""
    return int(time.time() * 1000)
