"""A page and a job side by side: what each rule finds, with which parser, and why a field is empty. A dry run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from odradek.contracts import PageMeta
from odradek_parser.core.parsing import Reader, Reading
from odradek_parser.core.rules import Extraction, Page, Record, Rule, default_record


@dataclass(frozen=True, slots=True)
class RuleReport:
    """What one rule made of the page."""

    type: str
    engine: str
    """`lexbor`, `beautifulsoup`, `lxml` (of XML), `json`, `builtin` or `plugin`."""
    silent: str | None
    """Why it says nothing about this page; null: it gave records."""
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


def inspect_page(reader: Reader, meta: PageMeta, body: bytes) -> Inspection:
    """Read a page as the parser service would, and keep what it throws away: reasons."""
    reading, page = reader.look(meta, body)
    text = reading.text
    return Inspection(
        url=reading.url,
        kind=page.document.kind,
        encoding=text.encoding if text is not None else "",
        encoding_source=text.source if text is not None else "",
        links=_links(reading),
        noindex=reading.noindex,
        rules=tuple(_reports(reader.extraction, page)),
    )


def _reports(extraction: Extraction, page: Page) -> Iterator[RuleReport]:
    if extraction.rules is None:
        yield RuleReport("page", "builtin", None, (Record("page", 0, default_record(page)),))
    for rule in extraction.rules or ():
        yield _report(rule, page)
    for plugin in extraction.plugins:
        records = tuple(plugin(page))
        yield RuleReport(
            records[0].type if records else "", "plugin", None if records else "it yields nothing", records
        )


def _report(rule: Rule, page: Page) -> RuleReport:
    engine = "builtin" if rule.rule.builtin is not None else "json" if rule.reads_json else rule.engine_for(page)
    silent, records = rule.silent(page), tuple(rule.records(page))
    if silent is None and not records:
        silent = _nothing(rule)
    return RuleReport(rule.type, engine, silent, records)


def _nothing(rule: Rule) -> str:
    if rule.rule.builtin is not None:
        return f"the page has no {rule.rule.builtin}"
    return "none of its fields matches" if rule.rule.each is None else f"nothing matches each {rule.rule.each}"


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
