"""Lists of seeds with an idempotency key: which lines of a repeat are in Kafka already."""

from collections.abc import Iterable, Sequence

import xxhash

from odradek.contracts import SeedReceipt
from odradek_api.core.lines import Numbered
from odradek_api.core.problems import list_changed
from odradek_api.core.seeds import BadLine

KEPT = 100
"""Receipts of one job, the newest."""


class Repeat:
    """Reads a list beside the receipt of an earlier try; without one every line is new."""

    def __init__(self, key: str, receipt: SeedReceipt | None) -> None:
        self._key = key
        self._known = receipt or SeedReceipt(key=key)
        self._digest = xxhash.xxh3_128()
        self._same = receipt is None
        """The lines that the receipt covers have come, and are the same."""
        self._taken = self._known

    @property
    def done(self) -> bool:
        """The whole list is in Kafka."""
        return self._known.done

    @property
    def receipt(self) -> SeedReceipt:
        """Of what is in Kafka now."""
        return self._taken

    def split(self, chunk: Iterable[Numbered]) -> tuple[list[Numbered], list[Numbered]]:
        """Lines that are in Kafka already, and new ones.

        Raises:
            Problem: 422 when the list is not the one that came with this key before.
        """
        known, new = list[Numbered](), list[Numbered]()
        for each in chunk:
            (known if each[0] <= self._known.lines else new).append(each)
        self._read(known)
        if new:
            self._compare()
            if self.done:
                raise list_changed(self._key)
        return known, new

    def took(self, new: Sequence[Numbered]) -> None:
        """Kafka has these."""
        if new:
            self._read(new)
            self._taken = SeedReceipt(key=self._key, lines=new[-1][0], digest=self._digest.hexdigest())

    def end(self) -> None:
        """The list has ended.

        Raises:
            Problem: 422 when it is shorter than the one that came with this key before.
        """
        self._compare()
        lines, digest = self._taken.lines, self._digest.hexdigest()
        self._taken = SeedReceipt(key=self._key, lines=lines, digest=digest, done=True)

    def _read(self, lines: Iterable[Numbered]) -> None:
        for number, seed in lines:
            text = seed.text if isinstance(seed, BadLine) else seed.url
            self._digest.update(f"{number}\0{text}\n".encode(errors="replace"))

    def _compare(self) -> None:
        if not self._same and self._digest.hexdigest() != self._known.digest:
            raise list_changed(self._key)
        self._same = True


def receipt_of(receipts: Iterable[SeedReceipt], key: str) -> SeedReceipt | None:
    """The receipt with this key."""
    return next((each for each in receipts if each.key == key), None)


def with_receipt(receipts: Sequence[SeedReceipt], receipt: SeedReceipt) -> tuple[SeedReceipt, ...]:
    """The receipts with this one, newest last, the oldest forgotten."""
    others = [each for each in receipts if each.key != receipt.key]
    return (*others, receipt)[-KEPT:]
