"""The rules of `extract`: one page becomes many records, declaratively (design §4)."""

from typing import Annotated, Any, Literal

import jmespath
from lxml import etree
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from odradek.patterns import compile_pattern

ValueType = Literal["text", "integer", "decimal", "boolean", "url", "datetime", "html"]


def _pattern(text: str) -> str:
    compile_pattern(text)
    return text


def _css(text: str) -> str:
    if "::" in text:
        raise ValueError(f"{text!r}: ::text and ::attr() are not CSS; text is the default, an attribute is `attr:`")
    return text


def _xpath(text: str) -> str:
    try:
        etree.XPath(text)
    except etree.XPathSyntaxError as error:
        raise ValueError(f"{text!r} is not an XPath: {error}") from None
    return text


def _jmespath(text: str) -> str:
    try:
        jmespath.compile(text)
    except jmespath.exceptions.ParseError as error:
        raise ValueError(f"{text!r} is not a JMESPath: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression in RE2 syntax, searched for: linear time, whatever the page says."""


class Strict(BaseModel):
    """Unknown fields are refused by name."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


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
            raise ValueError("a field needs exactly one of css, xpath or json")
        return self


class ExtractRule(Strict):
    """One kind of record."""

    type: str = Field(min_length=1, max_length=100)
    """Name of the records; unique in a job."""
    builtin: Literal["structured_data", "article"] | None = None
    match: Pattern | None = None
    """Only pages whose URL this finds."""
    each: Annotated[str, AfterValidator(_css)] | None = None
    """One record for every match; null: one for the page."""
    key: tuple[str, ...] = ()
    """Fields that identify a record; empty: URL and position."""
    locale: str | None = None
    """For numbers and dates, such as de_DE."""
    fields: dict[str, FieldRule] = {}

    @model_validator(mode="after")
    def _sound(self) -> "ExtractRule":
        if self.builtin is None and not self.fields:
            raise ValueError(f"rule {self.type!r} has neither fields nor builtin")
        for name in self.key:
            if name not in self.fields:
                raise ValueError(f"rule {self.type!r} has the key {name!r}, which is none of its fields")
        return self
