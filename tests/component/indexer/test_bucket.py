"""Archives in an S3-compatible store, as in a folder: each page once, in valid files.

Needs a store that speaks S3 (`If-None-Match` included) with a bucket to write to: `pip install 'moto[server]'`,
`moto_server -p 5555`, `ODRADEK_TEST_S3=http://127.0.0.1:5555`. The bucket is made by the test.
"""

import asyncio
import os
import urllib.request
import uuid
from pathlib import Path

import pytest
from tests.component.indexer.fakes import JOB, KnownJobs
from tests.component.indexer.pages import a_page, archived, is_valid

from odradek.errors import InfrastructureAway
from odradek.kafka.records import Done
from odradek_indexer.archiving import Archive, PageRecords
from odradek_indexer.knowing import KnownRules

ENDPOINT = os.environ.get("ODRADEK_TEST_S3")
pytestmark = pytest.mark.skipif(ENDPOINT is None, reason="ODRADEK_TEST_S3 names no S3-compatible store")


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket's prefix."""
    for name, value in {
        "AWS_ENDPOINT_URL": ENDPOINT or "",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"archive-{uuid.uuid4().hex}"
    urllib.request.urlopen(urllib.request.Request(f"{ENDPOINT}/{bucket}", method="PUT")).close()
    return f"s3://{bucket}/crawls"


def archiving(where: str) -> PageRecords:
    return PageRecords(Archive(Path("unused")), KnownRules(KnownJobs(**{JOB: {"archive": {"warc": where}}})))


def downloaded(where: str, folder: Path) -> Path:
    """The bucket's files, in a folder."""
    from obstore import get, list  # noqa: A004, PLC0415  (an optional extra)
    from obstore.store import S3Store  # noqa: PLC0415

    store = S3Store.from_url(where, client_options={"allow_http": True})
    for entry in (each for page in list(store) for each in page):
        path = folder / entry["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(get(store, entry["path"]).bytes()))
    return folder


async def test_pages_that_come_again_and_two_writers_make_one_record_each(where: str, tmp_path: Path) -> None:
    log = [a_page(offset, b"<p>" + b"x" * 10_000) for offset in range(30)]
    stale, owner = archiving(where), archiving(where)
    await stale(log[:5])
    await owner(log[:12])
    await stale(log[5:20])
    await asyncio.gather(archiving(where)(log[15:]), owner(log[12:]))

    folder = await asyncio.to_thread(downloaded, where, tmp_path)

    assert [url for url, _, _ in archived(folder)] == [f"https://books.example/{offset}.html" for offset in range(30)]
    assert is_valid(folder)


async def test_a_store_that_is_away_finishes_no_record(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = archiving(where)
    assert await archive([a_page(0)]) == [Done(a_page(0))]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    away = PageRecords(
        Archive(Path("unused")), KnownRules(KnownJobs(**{JOB: {"archive": {"warc": "s3://nowhere/at-all"}}}))
    )

    with pytest.raises(InfrastructureAway, match="s3://nowhere/at-all does not answer"):
        await away([a_page(1)])
