"""Topic `pages` into WARC files, for jobs that keep an archive: each page once, through redelivery and kill -9.

An archive that cannot be written is waited for, as any store is. It holds up its own pages only: where there are other
archives, its pages become dead letters after a while, from which they can be replayed.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

import msgspec
import structlog

from odradek.clock import now_ms
from odradek.contracts import PAGE_HEADER, PageMeta, decode, decoded_by
from odradek.errors import InfrastructureAway, UserError
from odradek.kafka.records import Done, Poison, Record
from odradek_indexer import metrics
from odradek_indexer.core.archive import Captured, Place, file_name, is_archived, stretch_folder, stretches
from odradek_indexer.knowing import KnownRules
from odradek_indexer.settings import ARCHIVE_PATIENCE_S
from odradek_indexer.shelves import Shelf, open_shelf
from odradek_indexer.warc import last_offset, warc_file

UNARCHIVABLE = "unarchivable"

log = structlog.get_logger()


class _Request(msgspec.Struct):
    job: str


class _About(msgspec.Struct):
    """As much of a page's metadata as tells whose it is: most pages belong to jobs without an archive."""

    request: _Request


_about = msgspec.json.Decoder(_About)


class Archive:
    """The files of all jobs. Blocking; one batch at a time."""

    def __init__(self, archive_dir: Path, opened: Callable[[str, Path], Shelf] = open_shelf) -> None:
        self._archive_dir, self._opened = archive_dir, opened
        self._shelves: dict[str, Shelf | None] = {}
        self._ends: dict[tuple[str, str, int], int] = {}
        """Last archived offset, by place, job and partition, as far as it was needed."""

    def store(self, where: str, captured: dict[str, list[Captured]]) -> None:
        """Write pages, by job, that belong on one shelf; those that lie there already are left out.

        Raises:
            InfrastructureAway: not all could be written now; what could be, lies there whole.
        """
        shelf = self._shelf(where)
        if shelf is None:
            return
        try:
            self._write(where, shelf, captured)
        except InfrastructureAway:
            self._forget(where)
            raise

    def _write(self, where: str, shelf: Shelf, captured: dict[str, list[Captured]]) -> None:
        for job, partition, pages in stretches(captured):
            at = (where, job, partition)
            while fresh := [each for each in pages if each.place.offset > self._end(shelf, at)]:
                name = file_name(job, fresh[0].place)
                with warc_file(name, fresh, now_ms()) as content:
                    if shelf.create(name, content):
                        self._ends[at] = fresh[-1].place.offset
                        metrics.ARCHIVED.inc(len(fresh))
                        metrics.ARCHIVE_FILES.inc()
                    else:
                        del self._ends[at]  # another writer was here: see how far it came

    def _shelf(self, where: str) -> Shelf | None:
        if where not in self._shelves:
            try:
                self._shelves[where] = self._opened(where, self._archive_dir)
            except UserError as error:
                log.error("pages_not_archived", where=where, error=str(error))  # noqa: TRY400  (the sentence says it all)
                self._shelves[where] = None
        return self._shelves[where]

    def _forget(self, where: str) -> None:
        """Where its files end is looked up again: another owner may have written what is passed by here."""
        self._ends = {at: end for at, end in self._ends.items() if at[0] != where}

    def _end(self, shelf: Shelf, at: tuple[str, str, int]) -> int:
        if at not in self._ends:
            _, job, partition = at
            newest = shelf.newest(stretch_folder(job, partition))
            try:
                self._ends[at] = -1 if newest is None else last_offset(shelf.beginning(newest))
            except ValueError as error:
                raise InfrastructureAway(
                    f"{newest} lies in the archive and is no file of Odradek's: {error}"
                ) from error
        return self._ends[at]


class PageRecords:
    """Topic `pages`, beside the parser."""

    def __init__(
        self,
        archive: Archive,
        rules: KnownRules,
        patience_s: float = ARCHIVE_PATIENCE_S,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`patience_s`: how long an archive that cannot be written may hold up the others."""
        self._archive, self._rules = archive, rules
        self._patience_s, self._clock = patience_s, clock
        self._failing: dict[str, float] = {}
        """Since when, by place."""

    async def __call__(self, records: Sequence[Record]) -> list[Done | Poison]:
        """Archive what belongs into an archive; what cannot be read is the parser's to report.

        Raises:
            InfrastructureAway: an archive cannot be written now, or the jobs have not been read yet.
        """
        wanted: dict[str, dict[str, list[Captured]]] = {}
        places: dict[Place, str] = {}
        for record in records:
            job = _job_of(record)
            where = None if job is None else (await self._rules.of(job)).archive
            page = None if where is None else _page_of(record)
            if job is not None and where is not None and page is not None and is_archived(page):
                place = Place(record.partition, record.offset)
                pages = wanted.setdefault(where, {}).setdefault(job, [])
                pages.append(Captured(place, page, record.value or b""))
                places[place] = where
        lost = await self._store(wanted)
        told = [lost.get(places.get(Place(record.partition, record.offset), "")) for record in records]
        return [
            Done(record) if error is None else Poison(record, UNARCHIVABLE, error)
            for record, error in zip(records, told, strict=True)
        ]

    async def _store(self, wanted: dict[str, dict[str, list[Captured]]]) -> dict[str, str]:
        """Write to each place, also when another one fails; returns those that are waited for no more, and why."""
        failed: dict[str, str] = {}
        for where, captured in wanted.items():
            try:
                await asyncio.to_thread(self._archive.store, where, captured)
                self._failing.pop(where, None)
            except InfrastructureAway as error:
                failed[where] = str(error)
        waited_for = [where for where in failed if not self._is_given_up(where)]
        if waited_for:
            raise InfrastructureAway("; ".join(failed[where] for where in waited_for))
        for where, reason in failed.items():
            pages = sum(map(len, wanted[where].values()))
            log.error("archive_given_up", where=where, pages=pages, error=reason)
        return failed

    def _is_given_up(self, where: str) -> bool:
        """True for one that has failed for so long, and others wait."""
        since = self._failing.setdefault(where, self._clock())
        return self._clock() - since >= self._patience_s and self._rules.archives() > {where}


def _job_of(record: Record) -> str | None:
    try:
        return decoded_by(_about, record.header(PAGE_HEADER) or b"").request.job
    except msgspec.MsgspecError:
        return None


def _page_of(record: Record) -> PageMeta | None:
    try:
        return decode(PageMeta, record.header(PAGE_HEADER) or b"")
    except msgspec.MsgspecError:
        return None
