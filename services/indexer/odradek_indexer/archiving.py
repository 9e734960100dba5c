"""Topic `pages` into WARC files, for jobs that keep an archive: each page once, through redelivery and kill -9."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import structlog

from odradek.clock import now_ms
from odradek.contracts import PAGE_HEADER, PageMeta, decode, decoded_by
from odradek.errors import InfrastructureAway, UserError
from odradek.kafka.records import Done, Record
from odradek_indexer import metrics
from odradek_indexer.core.archive import Captured, Place, file_name, is_archived, stretch_folder, stretches
from odradek_indexer.knowing import KnownRules
from odradek_indexer.shelves import Shelf, open_shelf
from odradek_indexer.warc import last_offset, warc_file

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

    def __init__(self, archive: Archive, rules: KnownRules) -> None:
        self._archive, self._rules = archive, rules

    async def __call__(self, records: Sequence[Record]) -> list[Done]:
        """Archive what belongs into an archive; what cannot be read is the parser's to report.

        Raises:
            InfrastructureAway: an archive cannot be written now, or the jobs have not been read yet.
        """
        wanted: dict[str, dict[str, list[Captured]]] = {}
        for record in records:
            job = _job_of(record)
            where = None if job is None else (await self._rules.of(job)).archive
            page = None if where is None else _page_of(record)
            if job is not None and where is not None and page is not None and is_archived(page):
                place = Place(record.partition, record.offset)
                pages = wanted.setdefault(where, {}).setdefault(job, [])
                pages.append(Captured(place, page, record.value or b""))
        for where, captured in wanted.items():
            await asyncio.to_thread(self._archive.store, where, captured)
        return [Done(record) for record in records]


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
