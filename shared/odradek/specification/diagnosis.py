"""Saying what is wrong with a specification: each wrong field by name, in a sentence a person understands."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from odradek.errors import UserError
from odradek.specification.model import JobSpecification
from odradek.specification.redaction import without_credentials

_SENTENCES = {
    "missing": "is required",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "invalid_key": "must be a text",
    "recursion_loop": "contains itself",
}


def validated(values: dict[str, Any], name: str) -> JobSpecification:
    """The specification in these values.

    Args:
        values: what a person wrote
        name: what stands for it at the beginning of an error, such as "The job file a.yaml"

    Raises:
        UserError: names the first wrong field, says how many more there are, and suggests a known name.
    """
    try:
        return JobSpecification.model_validate(values)
    except ValidationError as error:
        found = problems(error)
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        first = found[0]
        raise UserError(f"{name} is wrong at {first['field']}: {first['message']}{more}.") from None


def problems(error: ValidationError) -> list[dict[str, str]]:
    """Each wrong field with a sentence: [{"field": "scope.max_depth", "message": "…"}]."""
    return [
        {
            "field": ".".join(str(part) for part in each["loc"]) or "(the whole)",
            "message": without_credentials(_sentence(each)),
        }
        for each in error.errors(include_url=False, include_input=False)
    ]


def _sentence(each: Mapping[str, Any]) -> str:
    if each["type"] == "extra_forbidden":
        return _unknown(str(each["loc"][-1]), _known_fields(each["loc"][:-1]))
    said = str(each["msg"]).removeprefix("Value error, ")
    return _SENTENCES.get(each["type"]) or said.replace("Input should", "must", 1)


def _unknown(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"unknown field; did you mean {close[0]}?" if close else f"unknown field; known are {', '.join(known)}"


def _known_fields(path: tuple[Any, ...]) -> list[str]:
    model: type[BaseModel] = JobSpecification
    for part in path:
        found = next((field for name, field in model.model_fields.items() if (field.alias or name) == part), None)
        inner = _model_in(found.annotation) if found is not None else None
        if inner is not None:
            model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
