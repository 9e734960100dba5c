"""Pages as the fetcher leaves them, and what lies in an archive."""

from pathlib import Path
from typing import Any

from tests.component.indexer.fakes import JOB, NOW_MS
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from odradek.contracts import PAGE_HEADER, FetchRequest, PageMeta, encode
from odradek.kafka.records import Record


def a_page(offset: int, body: bytes = b"<p>Hello", *, job: str = JOB, partition: int = 0, **changes: Any) -> Record:
    """A page that went well; `changes` are fields of its metadata."""
    url = f"https://books.example/{offset}.html"
    request = FetchRequest(job=job, url=url, fp=f"{offset:032x}", key="books.example")
    fields: dict[str, Any] = {
        "request": request,
        "outcome": "fetched",
        "fetched_at_ms": NOW_MS + offset,
        "status": 200,
        "content_type": "text/html; charset=utf-8",
        "headers": {"etag": '"1"'},
    }
    meta = encode(PageMeta(**(fields | changes)))
    return Record("odradek.pages", partition, offset, b"fp", body, ((PAGE_HEADER, meta),), NOW_MS)


def archived(folder: Path) -> list[tuple[str, str, bytes]]:
    """URL, status line and body of every response in a folder's files, in the order of the files' names."""
    found = []
    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as opened:
            for record in ArchiveIterator(opened):
                if record.rec_type == "response":
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    found.append((url, record.http_headers.get_statuscode(), record.content_stream().read()))
    return found


class _Asked:
    """What `warcio check` is given on its command line."""

    def __init__(self, paths: list[Path]) -> None:
        self.inputs, self.verbose = [str(path) for path in paths], False


def is_valid(folder: Path) -> bool:
    """What `warcio check` says of all files in a folder; False where there is none."""
    checker = Checker(_Asked(list(folder.rglob("*.warc.gz"))))
    for path in checker.inputs:
        checker.process_one(path)
    return bool(checker.inputs) and checker.exit_value == 0
