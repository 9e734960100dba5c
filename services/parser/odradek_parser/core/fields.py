"""The fields of a rule, compiled once: where a value is found, what it becomes, and what is wrong with it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import jmespath
import msgspec
from lxml import etree

from odradek.patterns import compile_pattern
from odradek.specification import FieldRule
from odradek_parser.core.documents import Document
from odradek_parser.core.json_search import json_search
from odradek_parser.core.selectors import Engine, Selector, selector
from odradek_parser.core.trees import Node, Tree, spend
from odradek_parser.core.values import NoValue, Setting, converter

R = TypeVar("R")
_A_RECORD_WITHIN = 10
"""Visits that an object inside a record costs at least."""
_REFERENCES = ("href", "src", "data", "content", "value")


class Empty:
    """Nothing was found; says why, for a person."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


class Here(msgspec.Struct):
    """Where a record is being read, and what is wrong with it so far."""

    document: Document
    tree: Tree | None
    """Null for JSON."""
    setting: Setting
    problems: list[str] = []
    found: int = 0
    """Fields that had a value of their own."""
    empty: list[str] = []
    """Why the others had none."""


Found = Node | str
Find = Callable[[Here, Node], Any]
"""All matches (a list) of a field that has many, else the first one or None."""


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One field: `find` gives elements or plain values, `value` makes one of them into what the record holds."""

    name: str
    find: Find
    value: Callable[[Here, Any], Any]
    """Raises NoValue; gives an Empty when there is nothing."""
    many: bool
    required: bool
    default: Any
    source: str
    """As a person wrote it."""

    def read(self, here: Here, node: Node) -> Any:
        """The value for a record; what is wrong is noted in `here`."""
        try:
            found = self.find(here, node)
            if self.many:
                got = self._many(here, found)
            else:
                got = self.value(here, found) if found is not None else Empty(f"nothing matches {self.source}")
        except NoValue as error:
            here.problems.append(f"{self.name}: {error}")
            here.found += 1
            return None
        if isinstance(got, Empty):
            here.empty.append(f"{self.name}: {got.why}")
            if self.default is not None:
                return self.default
            if self.required:
                here.problems.append(f"{self.name}: {got.why}")
            return [] if self.many else None
        here.found += 1
        return got

    def _many(self, here: Here, found: list[Found]) -> Any:
        values = [value for each in found if not isinstance(value := self.value(here, each), Empty)]
        if values:
            return values
        return Empty(
            f"all {len(found)} matches of {self.source} are empty" if found else f"nothing matches {self.source}"
        )


def read_fields(plans: tuple[FieldPlan, ...], here: Here, node: Node) -> dict[str, Any]:
    """The record at a node."""
    return {plan.name: plan.read(here, node) for plan in plans}


def compile_fields(rules: dict[str, FieldRule], engine: Engine, locale: str | None) -> tuple[FieldPlan, ...]:
    """The fields of a rule for one engine."""
    return tuple(_compile(name, rule, engine, locale) for name, rule in rules.items())


def _compile(name: str, rule: FieldRule, engine: Engine, locale: str | None) -> FieldPlan:
    find, source = _finder(rule, engine)
    return FieldPlan(
        name=name,
        find=find,
        value=_nested(name, rule, engine, locale) if rule.fields is not None else _valuer(rule, locale),
        many=rule.many,
        required=rule.required,
        default=rule.default,
        source=source,
    )


def _finder(rule: FieldRule, engine: Engine) -> tuple[Find, str]:
    if rule.css is not None:
        return _css(selector(rule.css, engine), many=rule.many), f"css {rule.css}"
    if rule.xpath is not None:
        return _of_list(_xpath(rule.xpath), many=rule.many), f"xpath {rule.xpath}"
    return _of_list(_json(rule.json_ or "@", many=rule.many), many=rule.many), f"json {rule.json_}"


def _of_list(every: Callable[[Here, Node], list[Found]], *, many: bool) -> Find:
    return every if many else lambda here, node: next(iter(every(here, node)), None)


def _css(chosen: Selector, *, many: bool) -> Find:
    every, first = chosen.all, chosen.first

    def find_all(here: Here, node: Node) -> list[Found]:
        return every(here.tree, node)  # type: ignore[arg-type]  # only JSON has no tree, and there is no CSS in it

    def find_first(here: Here, node: Node) -> Found | None:
        return first(here.tree, node)  # type: ignore[arg-type]  # as above

    return find_all if many else find_first


def _xpath(expression: str) -> Callable[[Here, Node], list[Found]]:
    compiled = etree.XPath(expression)

    def find(here: Here, node: Node) -> list[Found]:
        assert here.tree is not None  # noqa: S101  (only JSON has none)
        view = here.document.view(here.tree)
        try:
            found = compiled(view.element(node))
        except etree.XPathError as error:
            raise NoValue(f"the XPath fails here: {error}") from None
        if isinstance(found, bool):
            return ["true" if found else "false"]
        if isinstance(found, float):
            return [] if found != found else [f"{found:.15g}"]  # noqa: PLR0124  (not a number)
        each_of = found if isinstance(found, list) else [found]
        return [view.node(each) if isinstance(each, etree._Element) else str(each) for each in each_of]  # noqa: SLF001

    return find


def _json(expression: str, *, many: bool) -> Callable[[Here, Node], list[Found]]:
    search = json_search(expression)

    def find(_: Here, value: Any) -> list[Found]:
        try:
            found = search(value)
        except jmespath.exceptions.JMESPathError as error:
            raise NoValue(f"the JMESPath fails here: {error}") from None
        if found is None:
            return []
        return [each for each in found if each is not None] if many and isinstance(found, list) else [found]

    return find


def _nested(name: str, rule: FieldRule, engine: Engine, locale: str | None) -> Callable[[Here, Any], Any]:
    inner = compile_fields(rule.fields or {}, engine, locale)

    def value(here: Here, node: Any) -> Any:
        if isinstance(node, str):
            raise NoValue("has fields of its own, and what was found is a text")
        if here.tree is not None:
            spend(here.tree, _A_RECORD_WITHIN)
        below = Here(here.document, here.tree, here.setting)
        record = read_fields(inner, below, node)
        here.problems += [f"{name}.{problem}" for problem in below.problems]
        here.empty += [f"{name}.{why}" for why in below.empty]
        return record if below.found or below.problems else Empty("none of its fields has a value")

    return value


def _valuer(rule: FieldRule, locale: str | None) -> Callable[[Here, Any], Any]:
    convert = converter(rule.type, locale)
    search = None if rule.regex is None else compile_pattern(rule.regex).search
    read = _raw_reader(rule)
    plain = rule.type in ("text", "html")
    lone_attribute = rule.type == "boolean" and rule.attr is not None

    def text_value(here: Here, found: Any) -> Any:
        """The usual case: the text of an element, which is stripped."""
        text = here.tree.text(found)  # type: ignore[union-attr]  # only JSON has no tree, and there is no CSS in it
        if not text:
            return Empty("what was found is empty")
        return text if plain else convert(text, here.setting)

    if rule.css is not None and rule.attr is None and search is None and rule.type not in ("html", "url"):
        return text_value

    def value(here: Here, found: Any) -> Any:
        raw = read(here, found)
        if raw is None:
            return Empty(f"the match of {rule.css or rule.xpath or rule.json_} has no attribute {rule.attr}")
        if not isinstance(raw, str):
            return raw if plain else _scalar(raw, convert, here)
        if search is not None:
            match = search(raw)
            if match is None:
                return Empty(f"{raw[:80]!r} does not match the regex {rule.regex}")
            raw = (match.group(1) if match.re.groups else match.group(0)) or ""
        raw = raw.strip()
        if not raw:
            return True if lone_attribute and search is None else Empty("what was found is empty")
        return raw if plain else convert(raw, here.setting)

    return value


def _scalar(raw: Any, convert: Callable[[str, Setting], Any], here: Here) -> Any:
    """A JSON value that is no text, as the type wants it."""
    if isinstance(raw, bool):
        return convert("true" if raw else "false", here.setting)
    if isinstance(raw, int | float):
        return convert(f"{raw:.17g}" if isinstance(raw, float) and raw != int(raw) else str(int(raw)), here.setting)
    raise NoValue("is an object or a list; name one of its values")


def _raw_reader(rule: FieldRule) -> Callable[[Here, Any], Any]:
    """What a match says, before regex and type: text, attribute, outer HTML, or the JSON value itself."""
    if rule.json_ is not None:
        return _json_text if rule.type in ("text", "html") else lambda _, found: found
    attr, kind = rule.attr, rule.type

    def read(here: Here, found: Any) -> Any:
        if isinstance(found, str):
            return found
        tree = here.tree
        assert tree is not None  # noqa: S101  (only JSON has none)
        if attr is not None:
            return tree.attribute(found, attr)
        if kind == "html":
            return tree.html(found)
        if kind == "url":
            named = (tree.attribute(found, name) for name in _REFERENCES)
            return next((value for value in named if value), None) or tree.text(found)
        return tree.text(found)

    return read


def _json_text(_: Here, found: Any) -> Any:
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found) if isinstance(found, int | float) else found
