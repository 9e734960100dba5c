"""Which pages an archive keeps, and under which names: each page once, whoever writes and however often it comes.

A file holds a stretch of one partition of `pages`: of one job's pages every one from the first to the last. Its name is
that of the first, and it is made only where there is none yet. Files cover a job's pages of a partition from the
beginning without a hole, so the next file's first page follows from the log: two writers that both take themselves for
the owner of a partition want the same name, and only one gets it. The other reads where that file ends, and goes on
behind it.
"""

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import xxhash

from odradek.contracts import PageMeta, timestamp

SUFFIX = ".warc.gz"
LAST_OFFSET = "odradek-last-offset"
"""Field of a file's `warcinfo` record."""

_FILE_NAME = re.compile(r"\d{20}" + re.escape(SUFFIX) + r"\Z", re.ASCII)
_BROKEN = re.compile(r"[\r\n\0]+")
_HOP_BY_HOP = frozenset({"content-encoding", "transfer-encoding", "content-length", "connection", "keep-alive"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where in `pages` a page lay."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Captured:
    """One page that belongs into an archive."""

    place: Place
    page: PageMeta
    body: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of an archive, without its payload."""

    url: str
    fields: Mapping[str, str]
    """WARC's."""
    status: str
    """Status code and phrase."""
    headers: tuple[tuple[str, str], ...]


def is_archived(page: PageMeta) -> bool:
    """True for answers whose whole body is at hand: pages, robots.txt, sitemaps; redirects count for their headers."""
    return page.status is not None and page.outcome in ("fetched", "redirected")


def stretch_folder(job: str, partition: int) -> str:
    """Where a job's files of one partition lie."""
    return f"{job}/{partition:05d}"


def file_name(job: str, first: Place) -> str:
    """The name of the file that begins with this page; files of a partition sort as their pages lay."""
    return f"{stretch_folder(job, first.partition)}/{first.offset:020d}{SUFFIX}"


def newest_file(names: Iterable[str]) -> str | None:
    """The file that holds the last page of a partition; what others put beside is passed over."""
    return max((name for name in names if _FILE_NAME.match(name.rpartition("/")[2])), default=None)


def stretches(captured: Mapping[str, list[Captured]]) -> Iterator[tuple[str, int, list[Captured]]]:
    """Job, partition and pages in the order of their offsets, for each file that is to be written."""
    for job, pages in captured.items():
        parts: dict[int, list[Captured]] = {}
        for each in pages:
            parts.setdefault(each.place.partition, []).append(each)
        for partition, found in parts.items():
            yield job, partition, sorted(found, key=lambda each: each.place.offset)


def entry(captured: Captured) -> Entry:
    """The record of a page: what the site answered, with the body as it was after content-decoding.

    Content-Length is that body's, and encodings are left out, so that headers and body agree.
    """
    page, request, place = captured.page, captured.page.request, captured.place
    identity = xxhash.xxh3_128_hexdigest(f"{request.job}\0{place.partition}\0{place.offset}".encode())
    fields = {
        "WARC-Record-ID": f"<urn:uuid:{uuid.UUID(identity)}>",
        "WARC-Date": timestamp(page.fetched_at_ms),
    }
    if page.remote_address:
        fields["WARC-IP-Address"] = page.remote_address
    if page.truncated:
        fields["WARC-Truncated"] = "length"
    status = page.status or 0
    url = _BROKEN.sub("", page.final_url or request.url)
    return Entry(url, fields, f"{status} {_phrase(status)}".strip(), _headers(captured))


def _headers(captured: Captured) -> tuple[tuple[str, str], ...]:
    page = captured.page
    given = dict(page.headers)
    if page.content_type is not None:
        given.setdefault("content-type", page.content_type)
    if page.location is not None:
        given.setdefault("location", page.location)
    found = [
        (_BROKEN.sub(" ", name), _BROKEN.sub(" ", value))
        for name, values in given.items()
        if name not in _HOP_BY_HOP
        for value in values.split("\n")
    ]
    return (*found, ("content-length", str(len(captured.body))))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
