"""A page and a job side by side: what each rule finds, with which parser, and why a field is empty. A dry run."""

from dataclasses import dataclass
from typing import Any

from odradek.contracts import FetchRequest, PageMeta
from odradek.errors import UserError
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify
from odradek_parser.core.parsing import Reader, Reading
from odradek_parser.core.rules import Page, Record, Rule


@dataclass(frozen=True, slots=True)
class RuleReport:
    """What one rule made of the page."""

    type: str
    engine: str
    """`lexbor`, `html5lib`, `json` or `builtin`."""
    silent: str | None
    """Why it says nothing about this page; null: it speaks."""
    records: tuple[Record, ...] = ()

    def why_empty(self) -> dict[str, int]:
        """Each reason why a field is empty, with the number of records it holds for."""
        reasons: dict[str, int] = {}
        for record in self.records:
            for why in record.empty:
                reasons[why] = reasons.get(why, 0) + 1
        return reasons


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the parser would make of a page."""

    url: str
    kind: str
    encoding: str
    encoding_source: str
    links: dict[str, Any]
    noindex: bool
    rules: tuple[RuleReport, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able values."""
        return {
            "url": self.url,
            "kind": self.kind,
            "encoding": self.encoding,
            "encoding_source": self.encoding_source,
            "links": self.links,
            "noindex": self.noindex,
            "rules": [_rule_dict(rule) for rule in self.rules],
        }


def inspect_page(
    spec: JobSpecification, body: bytes, *, url: str, content_type: str | None, charset: str | None = None, at_ms: int
) -> Inspection:
    """Read a page as the parser service would, and keep what it throws away: reasons.

    Raises:
        UserError: `url` cannot be crawled.
    """
    found = identify(url, spec.scope.url_rules)
    if not isinstance(found, CrawlUrl):
        raise UserError(f"{url} is not a URL that can be crawled ({found}).")
    request = FetchRequest(job="dry-run", url=found.url, fp=found.fp, key=found.key)
    meta = PageMeta(
        request=request, outcome="fetched", fetched_at_ms=at_ms, status=200, content_type=content_type, charset=charset
    )
    reader = Reader(spec)
    reading, page = reader.look(meta, body)
    rules = reader.extraction.rules
    reports = (
        (RuleReport("page", "builtin", None, tuple(reader.extraction.records(page))),)
        if rules is None
        else tuple(_report(rule, page) for rule in rules)
    )
    text = reading.text
    return Inspection(
        url=reading.url,
        kind=page.document.kind,
        encoding=text.encoding if text is not None else "",
        encoding_source=text.source if text is not None else "",
        links=_links(reading),
        noindex=reading.noindex,
        rules=reports,
    )


def _report(rule: Rule, page: Page) -> RuleReport:
    engine = "builtin" if rule.rule.builtin is not None else "json" if rule.reads_json else rule.engine
    return RuleReport(rule.type, engine, rule.silent(page), tuple(rule.records(page)))


def _links(reading: Reading) -> dict[str, Any]:
    sifted = reading.sifted
    return {
        "forwarded": [target.url.url for target in reading.targets],
        "duplicates": sifted.duplicates,
        "refused": dict(sifted.refused),
    }


def _rule_dict(rule: RuleReport) -> dict[str, Any]:
    return {
        "type": rule.type,
        "engine": rule.engine,
        "silent": rule.silent,
        "records": [
            {"data": record.data, "key": list(record.key), "malformed": list(record.problems)}
            for record in rule.records
        ],
        "why_empty": rule.why_empty(),
    }
