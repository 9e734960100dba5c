"""Reading a specification that a person wrote, and saying what is wrong with it."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from odradek.errors import UserError
from odradek.specification.model import JobSpecification

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_NODES = 200_000
"""Of a YAML document with its aliases expanded; a bomb of aliases has billions."""


def load_job_file(path: Path) -> dict[str, Any]:
    """The mapping in a YAML (or JSON) job file.

    Raises:
        UserError: no such file, too large, not YAML (with the line), or not a mapping.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UserError(f"The job file {path} is larger than 4 MiB; submit long seed lists separately.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"The job file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(f"The job file {path} is not UTF-8 text.") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> dict[str, Any]:
    """The mapping in a YAML text; `name` stands for it in errors."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is not None and _nodes(node, {}) > MAX_NODES:
            raise UserError(f"{name} grows to more than {MAX_NODES} values through its aliases; write it without.")
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise UserError(f"{name} is not YAML{where}: {getattr(error, 'problem', None) or error}.") from None
    if not isinstance(value, dict):
        raise UserError(f"{name} is not a job: it must be a mapping with fields such as seeds and scope.")
    return value


def _nodes(node: yaml.Node, known: dict[int, int]) -> int:
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = 1
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        children = [each for pair in node.value for each in pair]
    elif isinstance(node, yaml.SequenceNode):
        children = node.value
    known[id(node)] = 1 + sum(_nodes(child, known) for child in children)
    return known[id(node)]


def validated(values: dict[str, Any], name: str) -> JobSpecification:
    """The specification in these values.

    Raises:
        UserError: names the first wrong field, says how many more there are, and suggests a known name.
    """
    try:
        return JobSpecification.model_validate(values)
    except ValidationError as error:
        found = problems(error)
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        raise UserError(f"{name}: {found[0]['field']}: {found[0]['message']}{more}.") from None


def problems(error: ValidationError) -> list[dict[str, str]]:
    """Each wrong field with a sentence: [{"field": "scope.max_depth", "message": "…"}]."""
    return [
        {"field": ".".join(str(part) for part in each["loc"]), "message": _sentence(each)} for each in error.errors()
    ]


def _sentence(each: Any) -> str:
    if each["type"] != "extra_forbidden":
        return str(each["msg"]).removeprefix("Value error, ")
    name = str(each["loc"][-1])
    known = _known_fields(each["loc"][:-1])
    close = get_close_matches(name, known, n=1)
    return f"unknown field; did you mean {close[0]}?" if close else f"unknown field; known are {', '.join(known)}"


def _known_fields(path: tuple[Any, ...]) -> list[str]:
    model: type[BaseModel] = JobSpecification
    for part in path:
        found = model.model_fields.get(str(part))
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
