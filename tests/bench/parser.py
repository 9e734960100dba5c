"""CPU of the parser for each page of the catalogue: `python -m tests.bench.parser --scrapy PYTHON`.

It runs the whole parser process on Apache Kafka itself (links and 10 records of five fields a page), then Scrapy on the
same pages if a Python that has it is named, and then each step alone, in this process. CPU milliseconds a page; figures
of two machines do not compare, ratios within one run do.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from bs4 import BeautifulSoup
from confluent_kafka import Producer
from tests.bench.products import PRODUCTS
from tests.unit.parser.pages import a_job, a_meta, a_record, a_request

from odradek.contracts import PAGE_HEADER, JobRecord, PageMeta, decode, encode
from odradek.engines.engine import free_port
from odradek.engines.kafka import kafka_engine
from odradek.kafka.admin import apply_topics
from odradek.kafka.ends import Ends
from odradek.kafka.packing import pack
from odradek.kafka.records import Record
from odradek.runtime.supervisor import Supervisor
from odradek.settings import Settings
from odradek.specification import JobSpecification
from odradek.testing.site import Catalogue
from odradek.topics import JOBS, PAGES
from odradek.urls import partition_of
from odradek_parser.core.charset import decoded
from odradek_parser.core.documents import Document
from odradek_parser.core.fields import Here, read_fields
from odradek_parser.core.page import read_page
from odradek_parser.core.rules import Rule
from odradek_parser.core.selectors import Engine
from odradek_parser.core.trees import LexborTree
from odradek_parser.core.values import Setting
from odradek_parser.guard import ProcessGuard
from odradek_parser.handling import Handler
from odradek_parser.jobs import Readers

WARM_UP = 300


def the_job(catalogue: Catalogue) -> JobRecord:
    """All pages of the catalogue are in scope."""
    values = {"seeds": [catalogue.url(0)], "scope": {"allowed_domains": catalogue.addresses()}, "extract": [PRODUCTS]}
    return a_job(JobSpecification.parse(values))


def the_page(catalogue: Catalogue, number: int) -> tuple[PageMeta, bytes]:
    """As the fetcher hands it on."""
    body = catalogue.body(number)
    meta = a_meta(request=a_request(catalogue.url(number)), content_type="text/html; charset=utf-8", charset="utf-8",
                  size_bytes=len(body))  # fmt: skip
    return meta, body


async def whole_process(catalogue: Catalogue, pages: int) -> dict[str, float]:
    """CPU a page of `python -m odradek_parser` once it is warm."""
    with tempfile.TemporaryDirectory() as folder:
        engine = kafka_engine(Path(folder) / "kafka", lambda said: print(said, file=sys.stderr))  # noqa: T201
        supervisor = Supervisor(Path(folder) / "logs")
        await supervisor.start(engine.child())
        settings = Settings(kafka_bootstrap=engine.address, partitions=4, state_dir=Path(folder))
        await asyncio.to_thread(apply_topics, settings)
        environ = {"ODRADEK_KAFKA_BOOTSTRAP": engine.address, "ODRADEK_STATE_DIR": folder}
        parser = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "odradek_parser", env=os.environ | environ, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            await asyncio.to_thread(put, settings, catalogue, range(WARM_UP), the_job(catalogue))
            await until_parsed(settings)
            before, began = cpu_s(parser.pid), time.monotonic()
            await asyncio.to_thread(put, settings, catalogue, range(WARM_UP, WARM_UP + pages))
            await until_parsed(settings)
            spent, took = cpu_s(parser.pid) - before, time.monotonic() - began
        finally:
            parser.terminate()
            await parser.wait()
            await supervisor.stop()
    return {"cpu_ms": round(spent / pages * 1000, 3), "pages_per_s": round(pages / took, 1)}


def cpu_s(pid: int) -> float:
    """User and system time."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def put(settings: Settings, catalogue: Catalogue, numbers: range, job: JobRecord | None = None) -> None:
    """The job, if given, and pages."""
    producer = Producer({"bootstrap.servers": settings.kafka_bootstrap, "compression.type": "lz4"})
    if job is not None:
        producer.produce(settings.topic(JOBS), key=job.job, value=encode(job))
    for number in numbers:
        meta, body = the_page(catalogue, number)
        fp = meta.request.fp
        producer.produce(settings.topic(PAGES), key=fp, value=body, headers=[(PAGE_HEADER, encode(meta))],
                         partition=partition_of(fp, 4))  # fmt: skip
        producer.poll(0)
    producer.flush(60)


async def until_parsed(settings: Settings, within_s: float = 180) -> None:
    """Until the parser has committed all that lies in `pages`."""
    ends, deadline = Ends(settings), time.monotonic() + within_s
    try:
        lie = await asyncio.to_thread(ends.end_offsets, PAGES)
        while not await asyncio.to_thread(ends.passed, "parser", PAGES, lie):
            if time.monotonic() > deadline:
                raise TimeoutError("the parser is not through")
            await asyncio.sleep(0.1)
    finally:
        ends.close()


async def scrapy(python: str, pages: int) -> dict[str, float]:
    """CPU a page of Scrapy on the same pages, served from a process of its own."""
    port = free_port()
    site = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "odradek.testing.site", "--pages", str(pages), "--port", str(port),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert site.stdout is not None
    await site.stdout.readline()
    try:
        with tempfile.TemporaryDirectory() as folder:
            start, out = Catalogue(pages=pages, port=port).url(0), f"{folder}/items.jsonl"
            peer = await asyncio.create_subprocess_exec(
                python, str(Path(__file__).with_name("scrapy_peer.py")), start, out, stdout=asyncio.subprocess.PIPE
            )
            said, _ = await peer.communicate()
    finally:
        site.terminate()
        await site.wait()
    told = json.loads(said)
    crawled = told["pages"]  # one more than there are: Scrapy does not count a start URL as seen
    if not pages <= crawled <= pages + 1 or told["items"] != 10 * crawled:
        raise SystemExit(f"Scrapy crawled something else: {told}")
    return {"cpu_ms": round(told["cpu_s"] / crawled * 1000, 3), "pages_per_s": round(crawled / told["seconds"], 1)}


@contextmanager
def timed(into: dict[str, float], name: str, pages: int) -> Iterator[None]:
    """CPU milliseconds a page."""
    began = time.process_time()
    yield
    into[name] = round((time.process_time() - began) / pages * 1000, 4)


def step(into: dict[str, float], name: str, inputs: list[Any], do: Callable[[Any], Any]) -> list[Any]:
    """Do something to every page, timed."""
    with timed(into, name, len(inputs)):
        return [do(each) for each in inputs]


def steps(catalogue: Catalogue, pages: int) -> dict[str, float]:
    """Each step alone. What the process needs beyond their sum is Kafka's client and the runner."""
    job, into = the_job(catalogue), dict[str, float]()
    reader = Readers(product="odradek", plugins=()).reader(job)
    made = [the_page(catalogue, number) for number in range(pages)]
    records = [a_record(body, meta, offset=number) for number, (meta, body) in enumerate(made)]
    step(into, "metadata_decode", records, lambda each: decode(PageMeta, each.header(PAGE_HEADER)))
    texts = step(into, "charset", made, lambda each: decoded(each[1], each[0].charset).text)
    trees = step(into, "html_tree", texts, LexborTree)
    facts = step(into, "facts_and_references", list(zip(trees, made, strict=True)),
                 lambda each: read_page(each[0], each[1][0].request.url))  # fmt: skip
    known: set[str] = set()

    def sift(each: tuple[Any, Any]) -> None:
        found = reader.sieve.sift(each[0].links, base_url=each[0].base_url, depth=1, site=None, known=known)  # type: ignore[union-attr]  # the job is sound
        known.update(url.fp for url in found.forwarded)

    step(into, "links_joined_and_sifted", list(zip(facts, made, strict=True)), sift)
    into["ten_records"] = engine_ms("lexbor", made, trees)
    handler = Handler(_always(job), Readers(product="odradek", plugins=()))
    with timed(into, "all_of_a_page_with_messages", pages):
        results = [asyncio.run(handler.handle(records[at : at + 64])) for at in range(0, pages, 64)]
    step(into, "batches_for_frontier", [done for batch in results for done in batch],
         lambda done: [pack(stage.facts, 4) for stage in done.stages])  # fmt: skip
    into["poison_guard"] = guard_ms(records)
    return into


def _always(job: JobRecord) -> Any:
    async def job_of(_: object) -> JobRecord:
        return job

    return job_of


def guard_ms(records: list[Record]) -> float:
    """What the isolation of poison pages costs a page."""
    into: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        guard = ProcessGuard(Path(folder) / "page")
        step(into, "guard", records * 10, lambda record: (guard.condemned(record), guard.begin(record)))
        guard.rest()
    return into["guard"]


def engine_ms(engine: Engine, made: list[tuple[PageMeta, bytes]], trees: list[LexborTree] | None = None) -> float:
    """Ten records of a page with one parser, with its tree unless that is given."""
    plan, into = _rule()._plan(engine), dict[str, float]()
    with timed(into, "it", len(made)):
        for number, (meta, body) in enumerate(made):
            _records(plan, engine, meta, body, trees[number] if trees else None)
    return into["it"]


def _rule() -> Rule:
    rule = JobSpecification.parse({"seeds": ["https://a.example/"], "extract": [PRODUCTS]}).extract
    assert rule is not None
    return Rule(rule[0])


def _records(plan: Any, engine: Engine, meta: PageMeta, body: bytes, tree: LexborTree | None) -> list[dict[str, Any]]:
    document = Document(body.decode(), "html", Setting(meta.request.url, meta.fetched_at_ms))
    if tree is not None:
        document._lexbor = tree
    at, root = document.root(engine)
    nodes = plan.each.all(at, root)
    at.expect(nodes)
    return [read_fields(plan.fields, Here(document, at, document.setting), node) for node in nodes]


def side_by_side(catalogue: Catalogue, pages: int) -> dict[str, float]:
    """Tree and ten records with both engines, which must agree; and BeautifulSoup over other parsers, trees only."""
    made = [the_page(catalogue, number) for number in range(pages)]
    rule = _rule()
    for meta, body in made[:20]:
        fast, slow = (_records(rule._plan(each), each, meta, body, None) for each in ("lexbor", "beautifulsoup"))  # type: ignore[arg-type]
        if fast != slow:
            raise SystemExit(f"the engines differ on {meta.request.url}: {fast} {slow}")
    into = {f"{each}_tree_and_records": engine_ms(each, made) for each in ("lexbor", "beautifulsoup")}  # type: ignore[arg-type]
    for features in ("html5lib", "lxml", "html.parser"):
        step(into, f"beautifulsoup_{features}_tree_alone", made, lambda each, by=features: BeautifulSoup(each[1], by))
    return into


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=3000)
    arguments.add_argument("--scrapy", help="a Python that has Scrapy")
    given = arguments.parse_args()
    catalogue = Catalogue(pages=given.pages + WARM_UP, port=8097)
    told: dict[str, Any] = {"pages": given.pages, "load": os.getloadavg()}
    told["parser_process"] = asyncio.run(whole_process(catalogue, given.pages))
    print(told["parser_process"], file=sys.stderr)  # noqa: T201  (long before the rest)
    if given.scrapy:
        told["scrapy"] = asyncio.run(scrapy(given.scrapy, given.pages))
        told["scrapy_to_parser"] = round(told["scrapy"]["cpu_ms"] / told["parser_process"]["cpu_ms"], 1)
    else:
        told["scrapy"] = "absent: name a Python that has it with --scrapy"
    told["steps_cpu_ms"] = steps(catalogue, min(1000, given.pages))
    told["engines_cpu_ms"] = side_by_side(catalogue, min(60, given.pages))
    print(json.dumps(told, indent=1))  # noqa: T201  (its purpose)


if __name__ == "__main__":
    main()
