"""The rules of `extract`: one page becomes many records, declaratively (design §4)."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from odradek.specification.parts import Pattern, Strict

ValueType = Literal["text", "integer", "decimal", "boolean", "url", "datetime", "html"]


def _checked(kind: str) -> Callable[[str], str]:
    """A check that is imported when the first expression of its kind is read: engines for HTML and JSON take long."""

    def check(text: str) -> str:
        checks: dict[str, Callable[[str], str]] = import_module("odradek.specification.expressions").CHECKS
        return checks[kind](text)

    return check


_css, _xpath, _jmespath, _locale = map(_checked, ("css", "xpath", "jmespath", "locale"))


class FieldRule(Strict):
    """How one field of a record is found and what it becomes."""

    css: Annotated[str, AfterValidator(_css)] | None = None
    """CSS selector below the record's element; `&` alone is the element itself."""
    xpath: Annotated[str, AfterValidator(_xpath)] | None = None
    json_: Annotated[str, AfterValidator(_jmespath)] | None = Field(default=None, alias="json")
    """JMESPath into a JSON response."""
    attr: str | None = None
    """This attribute instead of the text."""
    regex: Pattern | None = None
    """First group, or the whole match."""
    many: bool = False
    """All matches as a list; nothing found gives []."""
    required: bool = False
    """A record without it is malformed: it goes to dead-letters, not to MongoDB."""
    default: Any = None
    type: ValueType = "text"
    fields: "dict[str, FieldRule] | None" = None
    """Nested object; with `many` a list of objects."""

    @model_validator(mode="after")
    def _one_source(self) -> "FieldRule":
        if sum(source is not None for source in (self.css, self.xpath, self.json_)) != 1:
            raise ValueError("needs exactly one of css, xpath or json")
        return self


class ExtractRule(Strict):
    """One kind of record."""

    type: str = Field(min_length=1, max_length=100)
    """Name of the records; unique in a job."""
    builtin: Literal["structured_data", "article", "links"] | None = None
    """Records without fields of your own: JSON-LD, microdata and OpenGraph; main text and metadata; every link with
    its anchor text, `rel` and element."""
    match: Pattern | None = None
    """Only pages whose URL this finds."""
    each: str | None = None
    """One record for every match of this CSS selector (of this JMESPath where the fields read JSON); null: one for the
    page."""
    key: tuple[str, ...] = ()
    """Fields that identify a record; empty: URL and position."""
    locale: Annotated[str, AfterValidator(_locale)] | None = None
    """For numbers and dates, such as de_DE."""
    fields: dict[str, FieldRule] = {}

    @model_validator(mode="after")
    def _sound(self) -> "ExtractRule":
        if self.builtin is None and not self.fields:
            raise ValueError(f"the rule {self.type!r} has neither fields nor builtin")
        if self.builtin is not None and (self.fields or self.each is not None or self.key):
            raise ValueError(f"the rule {self.type!r} is builtin: it has no each, key or fields of its own")
        if len(set(_reads_json(self.fields))) > 1:
            raise ValueError(f"the rule {self.type!r} mixes json with css or xpath; a page is one or the other")
        if self.each is not None:
            self._sound_each(self.each)
        for name in self.key:
            if name not in self.fields:
                raise ValueError(f"the rule {self.type!r} has the key {name!r}, which is none of its fields")
        return self

    @property
    def reads_json(self) -> bool:
        """True for a rule over JSON responses: its fields are JMESPath, and so is `each`."""
        return any(rule.json_ is not None for rule in self.fields.values())

    def _sound_each(self, each: str) -> None:
        try:
            _ = _jmespath(each) if self.reads_json else _css(each)
        except ValueError as error:
            raise ValueError(f"each: {error}") from None


def _reads_json(fields: dict[str, FieldRule]) -> Iterator[bool]:
    """For every field, also those inside others."""
    for rule in fields.values():
        yield rule.json_ is not None
        yield from _reads_json(rule.fields or {})
