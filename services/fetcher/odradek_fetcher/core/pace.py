"""How many requests may be open at once: as many as allowed, fewer while the machine is short of something."""

from dataclasses import dataclass

LAG_S = 0.5
"""An event loop this late would blame its own slowness on sites."""
BUSY = 0.8
"""Share of one core that this process uses; below, it is others who make the loop late."""
EASY_LAG_S = 0.1
MEMORY_FREE = 0.05
"""Share of the machine's memory that stays free."""
FILES_FREE = 64
"""File descriptors that stay free; a fetch takes one, a kept connection another."""
LEAST = 4


@dataclass(frozen=True, slots=True)
class Load:
    """What the machine has to bear."""

    lag_s: float
    """How late the event loop came back from a sleep."""
    busy: float
    """Share of one core that this process used meanwhile."""
    memory_free: float
    """Share of all memory that is available."""
    files_free: int
    """File descriptors left."""


class Pace:
    """Shrinks by a third when something is short, grows by a sixteenth of the most allowed when all is easy."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = most

    def adjust(self, load: Load) -> int:
        """The new limit, between `LEAST` (or `most`, if that is smaller) and `most`."""
        overworked = load.lag_s > LAG_S and load.busy > BUSY
        short = overworked or load.memory_free < MEMORY_FREE or load.files_free < FILES_FREE
        if short:
            self.limit = self.limit * 2 // 3
        elif load.lag_s < EASY_LAG_S or load.busy < BUSY:
            self.limit += max(1, self.most // 16)
        self.limit = min(self.most, max(self.limit, min(LEAST, self.most)))
        return self.limit
