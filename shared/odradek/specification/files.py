"""Reading a job file: YAML (so also JSON) from a person's disk, bounded in size, depth and aliases."""

import re
from pathlib import Path
from typing import Any

import yaml

from odradek.errors import UserError

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_NODES = 500_000
"""Of a document with its aliases expanded; a bomb of aliases has billions."""
MAX_DEPTH = 100

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _JobLoader(_Loader):  # type: ignore[misc]  # the C loader where it was built, else the Python one
    """Safe YAML in which only null, booleans and numbers are not text.

    YAML 1.1 would also make a date of 2030-01-31, the number 630 of 10:30 and `false` of `no`.
    """

    yaml_implicit_resolvers: dict[str, list[Any]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002  (the library's signature)
        """A mapping; a key that is given twice is an error, since one of the two would be lost."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is given twice", key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep=deep)  # type: ignore[no-any-return]  # untyped base


for _tag, _form, _first in (
    ("null", r"(?:~|null|Null|NULL|)\Z", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,30})\Z", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?\Z", list("-+0123456789")),
    ("merge", r"<<\Z", ["<"]),
):
    _JobLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_form), _first)


def load_job_file(path: Path | str) -> dict[str, Any]:
    """The mapping in a YAML (or JSON) job file.

    Raises:
        UserError: no such file, too large, not YAML (with the line), or not a mapping.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UserError(f"The job file {path} cannot be read: {error.strerror}.") from None
    if len(content) > MAX_FILE_BYTES:
        raise UserError(f"The job file {path} is larger than 4 MiB; submit long seed lists separately.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"The job file {path} is not UTF-8 text.") from None
    return parse_yaml(text, f"The job file {path}")


def parse_yaml(text: str, name: str) -> dict[str, Any]:
    """The mapping in a YAML text.

    Args:
        text: the document
        name: what stands for it at the beginning of an error, such as "The job file a.yaml"

    Raises:
        UserError: not YAML (with the line), too deep or too large once its aliases are expanded, or not a mapping.
    """
    loader = _JobLoader(text)
    try:
        node = loader.get_single_node()
        if node is not None:
            _expanded_size(node, {}, MAX_DEPTH, name)
        value = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise UserError(
            f"{name} is not YAML{where}: {getattr(error, 'problem', None) or str(error).splitlines()[0]}."
        ) from None
    except (ValueError, TypeError) as error:
        raise UserError(f"{name} is not YAML: {error}.") from None
    finally:
        loader.dispose()
    if not isinstance(value, dict):
        raise UserError(f"{name} is not a job: it must be a mapping with fields such as seeds and scope.")
    return value


def _expanded_size(node: yaml.Node, known: dict[int, int], depth: int, name: str) -> int:
    if depth == 0:
        raise UserError(f"{name} is nested deeper than {MAX_DEPTH} levels, or contains itself.")
    if id(node) in known:
        return known[id(node)]
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        children = [each for pair in node.value for each in pair]
    elif isinstance(node, yaml.SequenceNode):
        children = node.value
    size = 1 + sum(_expanded_size(child, known, depth - 1, name) for child in children)
    if size > MAX_NODES:
        raise UserError(f"{name} grows to more than {MAX_NODES:,} values through its aliases; write it without.")
    known[id(node)] = size
    return size
