"""A job cannot name any folder of the machine for its archive."""

import pytest
from tests.component.api.fakes import World


@pytest.mark.parametrize(
    ("warc", "said"),
    [
        ("/etc", "ODRADEK_ARCHIVE_DIR"),
        ("../up", "ODRADEK_ARCHIVE_DIR"),
        ("a/../../up", "ODRADEK_ARCHIVE_DIR"),
        ("s3://", "names no bucket"),
        ("s3://user:secret@bucket/x", "names no bucket"),
        ("s3:///x", "names no bucket"),
        ("s3://bucket/../other", "names no bucket"),
        ("s3://bucket/x//y", "names no bucket"),
        ("s3://b[/x", "names no bucket"),
        ("a\0b", "printable"),
        ("a" * 256, "255 bytes"),
        ("gs://bucket/x", "neither a folder nor s3://"),
    ],
)
async def test_an_archive_that_is_not_allowed_is_refused_by_name(warc: str, said: str) -> None:
    world = World(environ={"ODRADEK_ARCHIVE_DIR": "/data/archive"})
    async with world.client() as client:
        answer = await client.post("/v1/jobs", json={"seeds": [], "archive": {"warc": warc}})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "archive.warc"
    assert said in answer.json()["errors"][0]["message"]
    assert world.jobs.values == {}


@pytest.mark.parametrize("warc", ["books", "books/2026", "/data/archive/books", "s3://bucket/crawls"])
async def test_a_folder_below_or_a_bucket_is_accepted(warc: str) -> None:
    world = World(environ={"ODRADEK_ARCHIVE_DIR": "/data/archive"})
    async with world.client() as client:
        answer = await client.post("/v1/jobs", json={"seeds": [], "archive": {"warc": warc}})

    assert answer.status_code == 201
