"""When a process that died is started again: soon, then with growing waits while it keeps dying."""

from dataclasses import dataclass

FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 10.0
HEALTHY_S = 60.0


@dataclass(slots=True)
class Restarts:
    """The policy for one process; time comes in."""

    wait_s: float = FIRST_WAIT_S

    def next_wait_s(self, lived_s: float) -> float:
        """Seconds to wait before the next start; a life of `HEALTHY_S` seconds forgives what was before."""
        if lived_s >= HEALTHY_S:
            self.wait_s = FIRST_WAIT_S
        wait_s = self.wait_s
        self.wait_s = min(self.wait_s * 2, LONGEST_WAIT_S)
        return wait_s
