"""The scheduler's tables as recovery leaves them."""

from pathlib import Path

from odradek_scheduler.core.tables import value_offset
from odradek_scheduler.store import PartitionStore, Stores


class Tables:
    """Tables on disk that nobody else has written."""

    def __init__(self, folder: Path) -> None:
        self.stores = Stores(folder, value_offset)

    def take_foreign(self) -> set[int]:
        return set()

    def of(self, partition: int) -> PartitionStore:
        return self.stores.of(partition)
