"""Each page of a job with an archive lies in exactly one valid WARC file, through redelivery, kills and two writers."""

import asyncio
import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest
from tests.component.indexer.fakes import JOB, KnownJobs
from tests.component.indexer.pages import a_page, archived, is_valid
from warcio.archiveiterator import ArchiveIterator

from odradek.contracts import PAGE_HEADER
from odradek.errors import InfrastructureAway, UserError
from odradek.kafka.records import Done, Poison, Record
from odradek_indexer.archiving import Archive, PageRecords
from odradek_indexer.knowing import KnownRules
from odradek_indexer.shelves import Folder, Shelf, open_shelf

ARCHIVED = {JOB: {"archive": {"warc": "books"}}}


def archiving(folder: Path, jobs: KnownJobs | None = None) -> PageRecords:
    return PageRecords(Archive(folder), KnownRules(jobs or KnownJobs(**ARCHIVED), patience_s=0.0))


def urls(folder: Path) -> list[str]:
    return [url for url, _, _ in archived(folder)]


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def files(folder: Path) -> list[Path]:
    return [path for path in everything(folder) if path.suffixes[-2:] == [".warc", ".gz"]]


def the_urls(offsets: Sequence[int]) -> list[str]:
    return [f"https://books.example/{offset}.html" for offset in offsets]


async def test_a_page_is_kept_with_what_the_site_answered_in_a_file_that_is_valid(tmp_path: Path) -> None:
    page = a_page(
        7, "<p>Grüße".encode(), remote_address="192.0.2.1", truncated=True, final_url="https://books.example/cookie",
        headers={"etag": '"1"', "content-encoding": "gzip", "x-odd": "a\nb", "set-cookie": "a=1\nb=2"},
    )  # fmt: skip

    await archiving(tmp_path)([page])

    (path,) = files(tmp_path)
    assert path.relative_to(tmp_path) == Path("books", JOB, "00000", "00000000000000000007.warc.gz")
    assert is_valid(tmp_path)
    with path.open("rb") as opened:
        information, response = ((each.rec_type, dict(each.rec_headers.headers), each.http_headers, each.content_stream().read()) for each in ArchiveIterator(opened))  # noqa: E501  (read while open)  # fmt: skip
    assert information[0] == "warcinfo"
    assert b"odradek-last-offset: 7\r\n" in information[3]
    kind, fields, http, body = response
    assert (kind, body) == ("response", "<p>Grüße".encode())
    assert fields["WARC-Target-URI"] == "https://books.example/cookie"
    assert (fields["WARC-IP-Address"], fields["WARC-Truncated"]) == ("192.0.2.1", "length")
    assert fields["WARC-Date"] == "2026-09-21T14:13:20.007Z"
    assert http.statusline == "200 OK"
    assert http.headers == [
        ("etag", '"1"'),
        ("x-odd", "a"),
        ("x-odd", "b"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("content-type", "text/html; charset=utf-8"),
        ("content-length", "10"),
    ]


async def test_only_answers_of_jobs_with_an_archive_are_kept(tmp_path: Path) -> None:
    delivered = [
        a_page(0),
        a_page(1, job="another"),
        a_page(2, outcome="failed", status=None, reason="dns"),
        a_page(3, b"", outcome="redirected", status=301, location="https://books.example/new"),
        a_page(4, outcome="failed", status=404, reason="http_404"),
        Record("odradek.pages", 0, 5, b"fp", b"no metadata"),
    ]

    results = await archiving(tmp_path, KnownJobs(another={}, **ARCHIVED))(delivered)

    assert results == [Done(record) for record in delivered]
    assert archived(tmp_path) == [
        ("https://books.example/0.html", "200", b"<p>Hello"),
        ("https://books.example/3.html", "301", b""),
    ]


async def test_metadata_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    page = a_page(0)
    unreadable = [b'{"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}", b"\xff"]
    delivered = [
        msgspec.structs.replace(page, offset=n, headers=((PAGE_HEADER, each),)) for n, each in enumerate(unreadable, 1)
    ]

    assert await archiving(tmp_path)([page, *delivered]) == [Done(page), *map(Done, delivered)]
    assert urls(tmp_path) == the_urls([0])


@pytest.mark.parametrize("name", ["job.warc.gz", "notes.txt", "zzz", "99999999999999999999.warc.gz.part"])
async def test_what_others_put_beside_the_files_does_not_hold_the_archive_up(tmp_path: Path, name: str) -> None:
    log = [a_page(offset) for offset in range(4)]
    await archiving(tmp_path)(log[:2])
    files(tmp_path)[0].with_name(name).write_bytes(b"joined with cat")

    await archiving(tmp_path)(log)

    assert [page for page in files(tmp_path) if page.name != name][1].name == "00000000000000000002.warc.gz"


async def test_without_an_archive_no_folder_is_made(tmp_path: Path) -> None:
    await archiving(tmp_path, KnownJobs())([a_page(0)])

    assert everything(tmp_path) == []


async def test_pages_that_come_again_after_a_kill_are_kept_once_however_they_are_cut_into_batches(
    tmp_path: Path,
) -> None:
    log = [a_page(offset) for offset in range(20)]
    await archiving(tmp_path)(log[:8])
    await archiving(tmp_path)(log[8:12])

    again = archiving(tmp_path)
    for batch in (log[3:10], log[10:15], log[15:20], log[18:20]):
        await again(batch)

    assert urls(tmp_path) == the_urls(range(20))
    assert is_valid(tmp_path)


async def test_two_writers_that_both_think_they_own_a_partition_keep_each_page_once(tmp_path: Path) -> None:
    log = [a_page(offset) for offset in range(12)]
    stale, owner = archiving(tmp_path), archiving(tmp_path)
    await stale(log[:3])
    await owner(log[:5])
    await stale(log[3:8])
    await owner(log[5:12])
    await stale(log[8:10])

    assert urls(tmp_path) == the_urls(range(12))


async def test_two_writers_at_the_same_moment_keep_each_page_once(tmp_path: Path) -> None:
    log = [a_page(offset) for offset in range(40)]
    writers = [archiving(tmp_path) for _ in range(4)]

    await asyncio.gather(*(writer(log[: 10 * (place + 1)]) for place, writer in enumerate(writers)))

    assert urls(tmp_path) == the_urls(range(40))


async def test_a_process_that_dies_while_it_writes_leaves_no_file_that_is_taken_for_one(tmp_path: Path) -> None:
    folder = tmp_path / "books" / JOB / "00000"
    folder.mkdir(parents=True)
    (folder / ".half.part").write_bytes(b"\x1f\x8b")

    await archiving(tmp_path)([a_page(0)])

    assert urls(tmp_path) == the_urls([0])


async def test_a_file_that_another_writer_finishes_in_this_moment_is_no_trouble(tmp_path: Path) -> None:
    folder = tmp_path / "books" / JOB / "00000"
    folder.mkdir(parents=True)
    (folder / ".its.part").symlink_to(folder / "gone when it is looked at")

    await archiving(tmp_path)([a_page(0)])

    assert urls(tmp_path) == the_urls([0])


async def test_nothing_that_a_page_tells_breaks_out_of_its_line(tmp_path: Path) -> None:
    page = a_page(0, b"body", headers={"a\r\n\r\nb": "c\rd"}, final_url="https://books.example/\r\nWARC-Type: x")

    await archiving(tmp_path)([page])

    assert archived(tmp_path) == [("https://books.example/WARC-Type:%20x", "200", b"body")]


class Full(Folder):
    """A disk that is full for a while."""

    full = True

    def create(self, name: str, content: IO[bytes]) -> bool:
        if self.full:
            raise InfrastructureAway("the archive cannot be written: no space left")
        return super().create(name, content)


async def test_a_full_disk_finishes_no_record_and_then_all(tmp_path: Path) -> None:
    disk = Full(tmp_path)

    def opened(_: str, __: Path) -> Shelf:
        return disk

    archive = PageRecords(Archive(tmp_path, opened), KnownRules(KnownJobs(**ARCHIVED)))
    with pytest.raises(InfrastructureAway, match="no space"):
        await archive([a_page(0)])
    disk.full = False

    assert await archive([a_page(0)]) == [Done(a_page(0))]
    assert urls(tmp_path) == the_urls([0])


class TwoArchives:
    """Two jobs with archives of their own; the disk of the first one is full."""

    def __init__(self, folder: Path, **more: dict[str, Any]) -> None:
        self.disk, self.now = Full(folder / "books"), 0.0
        places = {JOB: {"archive": {"warc": "books"}}} | more
        shelves: dict[str, Shelf] = {"books": self.disk, "shops": Folder(folder / "shops")}
        self.archive = PageRecords(
            Archive(folder, lambda where, _: shelves[where]), KnownRules(KnownJobs(**places)), 600, lambda: self.now
        )


SHOPS = {"shops": {"archive": {"warc": "shops"}}}


async def test_an_archive_that_cannot_be_written_holds_up_the_others_for_a_while_only(tmp_path: Path) -> None:
    two = TwoArchives(tmp_path, **SHOPS)
    delivered = [a_page(0), a_page(1, job="shops")]

    with pytest.raises(InfrastructureAway, match="no space"):
        await two.archive(delivered)
    assert urls(tmp_path / "shops") == the_urls([1])
    two.now = 599
    with pytest.raises(InfrastructureAway, match="no space"):
        await two.archive(delivered)
    two.now = 600
    given_up = await two.archive(delivered)
    later = await two.archive([a_page(2), a_page(3, job="shops")])

    error = "the archive cannot be written: no space left"
    assert given_up == [Poison(a_page(0), "unarchivable", error), Done(a_page(1, job="shops"))]
    assert later == [Poison(a_page(2), "unarchivable", error), Done(a_page(3, job="shops"))]
    assert urls(tmp_path / "shops") == the_urls([1, 3])


async def test_an_archive_that_was_given_up_goes_on_where_it_can_be_written_again(tmp_path: Path) -> None:
    two = TwoArchives(tmp_path, **SHOPS)
    with pytest.raises(InfrastructureAway):
        await two.archive([a_page(0)])
    two.now = 600
    await two.archive([a_page(0)])
    two.disk.full = False

    replayed = a_page(9, final_url="https://books.example/0.html")
    assert await two.archive([a_page(1)]) == [Done(a_page(1))]
    assert await two.archive([replayed]) == [Done(replayed)]
    assert urls(tmp_path / "books") == the_urls([1, 0])

    two.disk.full, two.now = True, 1300
    with pytest.raises(InfrastructureAway):
        await two.archive([a_page(10)])


async def test_an_archive_that_holds_up_nobody_is_waited_for(tmp_path: Path) -> None:
    two = TwoArchives(tmp_path)
    for two.now in (0.0, 86_400.0):
        with pytest.raises(InfrastructureAway, match="no space"):
            await two.archive([a_page(0)])
    two.disk.full = False

    assert await two.archive([a_page(0)]) == [Done(a_page(0))]


async def test_what_another_owner_wrote_of_pages_that_were_given_up_is_not_written_again(tmp_path: Path) -> None:
    two = TwoArchives(tmp_path, **SHOPS)
    log = [a_page(offset) for offset in range(6)]
    two.disk.full = False
    await two.archive(log[:1])
    two.disk.full = True
    with pytest.raises(InfrastructureAway):
        await two.archive(log[1:3])
    await archiving(tmp_path)(log[:5])
    two.now, two.disk.full = 600, False
    await two.archive(log[3:])

    assert urls(tmp_path / "books") == the_urls(range(6))


def test_a_folder_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InfrastructureAway, match="cannot be written"):
        Folder(tmp_path / "file").create("a/b", io.BytesIO(b""))


@pytest.mark.parametrize("where", ["../elsewhere", "/etc", "a/../../b"])
def test_an_archive_outside_the_folder_of_the_settings_is_refused(where: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ODRADEK_ARCHIVE_DIR"):
        open_shelf(where, tmp_path / "inner")


async def test_pages_of_a_job_whose_archive_is_refused_are_passed_by(tmp_path: Path) -> None:
    jobs = KnownJobs(**{JOB: {"archive": {"warc": "../outside"}}})

    assert await archiving(tmp_path, jobs)([a_page(0)]) == [Done(a_page(0))]


async def test_partitions_have_files_of_their_own(tmp_path: Path) -> None:
    await archiving(tmp_path)([a_page(0, partition=0), a_page(0, partition=11), a_page(1, partition=0)])

    assert [path.parent.name for path in files(tmp_path)] == ["00000", "00011"]
    assert len(archived(tmp_path)) == 3
