"""WARC 1.1 files (ISO 28500:2017), one gzip member a record, so that files may be joined with `cat`."""

import io
from collections.abc import Sequence
from tempfile import SpooledTemporaryFile
from typing import IO

from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from odradek.contracts import timestamp
from odradek_indexer.core.archive import LAST_OFFSET, Captured, entry

IN_MEMORY_BYTES = 8 * 1024 * 1024
SOFTWARE = "Odradek"


def warc_file(name: str, captured: Sequence[Captured], now_ms: int) -> IO[bytes]:
    """A whole file, from its beginning; the caller closes it."""
    spool: IO[bytes] = SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  (the caller closes it)
    writer = WARCWriter(spool, gzip=True, warc_version="WARC/1.1")
    writer.write_record(_information(writer, name, captured, now_ms))
    for each in captured:
        told = entry(each)
        headers = StatusAndHeaders(told.status, list(told.headers), protocol="HTTP/1.1")
        record = writer.create_warc_record(
            told.url,
            "response",
            payload=io.BytesIO(each.body),
            length=len(each.body),
            warc_headers_dict=dict(told.fields),
            http_headers=headers,
        )
        writer.write_record(record)
    spool.seek(0)
    return spool


def last_offset(beginning: bytes) -> int:
    """The offset of a file's last page, from its first few kilobytes.

    Raises:
        ValueError: not a file of ours.
    """
    for record in ArchiveIterator(io.BytesIO(beginning)):
        for line in record.content_stream().read().decode().splitlines():
            name, _, value = line.partition(": ")
            if name == LAST_OFFSET:
                return int(value)
        break
    raise ValueError("the file does not tell where it ends")


def _information(writer: WARCWriter, name: str, captured: Sequence[Captured], now_ms: int) -> object:
    first = captured[0]
    record = writer.create_warcinfo_record(
        name,
        {
            "software": SOFTWARE,
            "format": "WARC File Format 1.1",
            "isPartOf": first.page.request.job,
            "odradek-partition": f"{first.place.partition:d}",
            "odradek-first-offset": f"{first.place.offset:d}",
            LAST_OFFSET: f"{captured[-1].place.offset:d}",
        },
    )
    record.rec_headers.replace_header("WARC-Date", timestamp(now_ms))
    return record
