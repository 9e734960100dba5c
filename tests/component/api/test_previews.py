"""Previews: a page fetched and read in a process that has no secrets, as the job would."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

import pytest
from tests.component.api.fakes import World

from odradek.testing.site import Catalogue, Site
from odradek_api.core.previews import previewed
from odradek_api.core.problems import Problem
from odradek_api.previewing import HANDED_ON, Previews

RULE = {
    "type": "card",
    "each": "article.product",
    "fields": {"sku": {"css": "&", "attr": "data-sku"}, "lost": {"css": ".none"}},
}


@pytest.fixture
async def previews() -> AsyncIterator[Previews]:
    made = Previews({**os.environ, "ODRADEK_ALLOW_PRIVATE_NETWORKS": "1"})
    yield made
    await made.close()


async def test_a_page_is_fetched_once_and_read_again_with_every_rule(previews: Previews) -> None:
    async with Site(Catalogue(pages=3, hosts=1, port=0, words_per_card=5)) as site:
        url = site.catalogue.url(0)
        first = await previews.look(url, {"seeds": [url], "extract": [RULE]})
        second = await previews.look(url, {"seeds": [url]})

        assert site.seen.pages() == {"/p/0.html": 1}
    assert (first["page"]["kept"], second["page"]["kept"]) == (False, True)
    assert [record["data"]["sku"] for record in first["inspection"]["rules"][0]["records"]] == [
        f"0000000-{n}" for n in range(10)
    ]
    assert first["inspection"]["rules"][0]["found"] == 10
    assert second["inspection"]["rules"][0]["type"] == "page"


async def test_what_gives_no_page_says_why(previews: Previews) -> None:
    async with Site(Catalogue(pages=3, hosts=1, port=0)) as site:
        url = site.catalogue.url(0).replace("/p/0.html", "/nowhere")
        found = await previews.look(url, {"seeds": [url]})

    assert (found["page"]["status"], found["inspection"]) == (404, None)
    assert found["page"]["problem"]


async def test_what_a_library_prints_is_no_answer() -> None:
    command = (
        "from odradek_api.preview_worker import only_answers_out as out; answers = out(); "
        "print('a warning', flush=True); answers.write(b'an answer'); answers.flush()"
    )
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )

    assert await worker.communicate() == (b"an answer", b"a warning\n")


async def test_private_networks_are_closed_unless_the_installation_opens_them() -> None:
    previews = Previews({"PATH": "/usr/bin:/bin"})
    try:
        async with Site(Catalogue(pages=3, hosts=1, port=0)) as site:
            found = await previews.look(site.catalogue.url(0), {"seeds": []})
            assert site.seen.answers.total() == 0
    finally:
        await previews.close()
    assert found["inspection"] is None
    assert "not public" in found["page"]["problem"]


async def test_a_page_that_takes_too_long_is_given_up_and_the_next_one_is_read(previews: Previews) -> None:
    async with Site(Catalogue(pages=3, hosts=1, port=0, words_per_card=5), latency_s=60) as slow:
        await previews.look(slow.catalogue.url(0), {"fetch": {"timeout": "100ms", "retries": 0}})
        with pytest.raises(Problem) as refused:
            await previews.look(slow.catalogue.url(1), {}, longest_s=0.3)
        async with Site(Catalogue(pages=3, hosts=1, port=0, words_per_card=5)) as quick:
            found = await previews.look(quick.catalogue.url(0), {})

    assert refused.value.status == 504
    assert found["page"]["status"] == 200


def test_neither_secrets_nor_code_are_used_and_the_answer_says_so() -> None:
    spec = {
        "plugins": ["os:system"],
        "fetch": {"auth": {"bearer": "${env:TOKEN}"}, "headers": {"x": "${env:MONGO}"}, "timeout": 3.0},
        "webhooks": [{"url": "https://hook.example/"}],
    }

    assert previewed("https://a.example/", spec) == (
        {"fetch": {"timeout": 3.0}, "seeds": ["https://a.example/"]},
        ["plugins", "fetch.auth", "fetch.headers"],
    )
    assert not any(word in name for name in HANDED_ON for word in ("KEY", "MONGODB", "KAFKA", "PASSWORD"))


async def test_a_wrong_rule_is_refused_by_its_name_before_anything_is_fetched() -> None:
    async with World().client() as client:
        body = {"url": "https://a.example/", "job": {"extract": [{"type": "x", "fields": {"a": {"css": "h1::text"}}}]}}
        answer = await client.post("/v1/preview", json=body)
        unknown = await client.post("/v1/preview", json={"url": "https://a.example/", "rules": []})

    assert answer.status_code == unknown.status_code == 422
    assert answer.json()["errors"][0]["field"] == "extract.0.fields.a.css"


def test_a_proxy_is_never_used_for_a_preview() -> None:
    spec, withheld = previewed("https://a.example/", {"fetch": {"proxies": ["http://10.0.0.1:3128"], "http2": False}})

    assert (spec["fetch"], withheld) == ({"http2": False}, ["fetch.proxies"])
