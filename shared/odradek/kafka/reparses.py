"""Reading a job's pages again: which consumer group does it, and how far that group has come.

The parsers share the work as they share everything, through a group, one for each reparse; its commits are the only
record of progress, so whoever asks Kafka knows it, and a killed parser's part falls to another one.
"""

from odradek.contracts import Reparse
from odradek.kafka.ends import Ends
from odradek.topics import PAGES


def reparse_service(job: str, number: int) -> str:
    """The name under which its group commits."""
    return f"reparse-{job}-{number}"


def records_left(ends: Ends, job: str, reparse: Reparse) -> int:
    """Records between its bounds that are still to be read; 0: it is done. What retention cut off is not left.

    Raises:
        InfrastructureAway: the broker does not answer in time.
    """
    committed = ends.committed(reparse_service(job, reparse.number), PAGES)
    bounds = ends.bounds(PAGES)
    left = 0
    for partition, end in enumerate(reparse.ends):
        oldest = bounds[partition][0] if partition in bounds else end
        left += max(0, end - max(committed.get(partition, 0), oldest))
    return left
