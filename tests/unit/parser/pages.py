"""Builders for what the parser reads."""

from collections.abc import Sequence
from typing import Any

from odradek.contracts import PAGE_HEADER, FetchRequest, JobRecord, PageMeta, encode
from odradek.kafka.records import Record
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify
from odradek_parser.core.documents import Document, kind_of
from odradek_parser.core.page import read_page
from odradek_parser.core.parsing import Reader, Reading
from odradek_parser.core.rules import Extraction, Page, compile_rules
from odradek_parser.core.rules import Record as Extracted
from odradek_parser.core.values import Setting

URL = "https://books.example/list/"


def the_url(url: str) -> CrawlUrl:
    found = identify(url)
    assert isinstance(found, CrawlUrl), found
    return found


def a_spec(**values: Any) -> JobSpecification:
    return JobSpecification.parse({"seeds": [URL], **values})


def a_request(url: str = URL, **changes: Any) -> FetchRequest:
    found = the_url(url)
    return FetchRequest(**({"job": "j1", "url": found.url, "fp": found.fp, "key": found.key} | changes))


def a_meta(url: str = URL, *, request: FetchRequest | None = None, **changes: Any) -> PageMeta:
    given: dict[str, Any] = {
        "request": request or a_request(url),
        "outcome": "fetched",
        "fetched_at_ms": 1_700_000_000_000,
        "status": 200,
        "content_type": "text/html",
    }
    return PageMeta(**(given | changes))


def a_reading(
    html: str | bytes | None, *, spec: JobSpecification | None = None, known: Sequence[str] = (), **meta: Any
) -> Reading:
    body = html.encode() if isinstance(html, str) else html
    return Reader(spec or a_spec(), product="odradek").read(a_meta(**meta), body, frozenset(known))


def forwarded(reading: Reading) -> list[str]:
    return [target.url.url for target in reading.targets]


def a_page(text: str, *, content_type: str = "text/html", url: str = URL) -> Page:
    document = Document(text, kind_of(content_type, text), Setting(url, 1_700_000_000_000))
    facts = read_page(document.lexbor, url)
    document.setting = Setting(facts.base_url, document.setting.fetched_at_ms)
    return Page(url, document, facts, a_meta(url, content_type=content_type))


def extraction(*rules: dict[str, Any]) -> Extraction:
    return compile_rules(a_spec(extract=list(rules)))


def extracted(text: str, *rules: dict[str, Any], content_type: str = "text/html") -> list[Extracted]:
    return list(extraction(*rules).records(a_page(text, content_type=content_type)))


def a_job(spec: JobSpecification | None = None, **changes: Any) -> JobRecord:
    return JobRecord(**({"job": "j1", "spec": (spec or a_spec()).to_wire()} | changes))


def a_record(body: str | bytes | None, meta: PageMeta | None = None, *, offset: int = 0) -> Record:
    meta = meta or a_meta()
    return Record(
        topic="odradek.pages",
        partition=3,
        offset=offset,
        key=meta.request.fp.encode(),
        value=body.encode() if isinstance(body, str) else body,
        headers=((PAGE_HEADER, encode(meta)),),
    )
