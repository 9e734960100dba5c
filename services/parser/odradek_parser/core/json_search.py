"""JMESPath with a bound: an expression of a few characters can double a list thirty times."""

from collections.abc import Callable
from typing import Any

import jmespath
from jmespath.visitor import TreeInterpreter

from odradek_parser.core.values import NoValue

MOST_VALUES = 3_000_000
"""Looked at or made by one search, about 1 s; an honest one needs as many as the response has."""


def json_search(expression: str) -> Callable[[Any], Any]:
    """The search for an expression.

    It raises jmespath.exceptions.JMESPathError where the expression fails, and NoValue where it needs too much work.
    """
    parsed = jmespath.compile(expression).parsed
    return lambda value: _Bounded().visit(parsed, value)


class _Bounded(TreeInterpreter):
    def __init__(self) -> None:
        super().__init__()
        self._left = MOST_VALUES

    def visit(self, node: Any, *args: Any, **more: Any) -> Any:
        found = super().visit(node, *args, **more)
        self._left -= 1 + (len(found) if isinstance(found, list | str) else 0)
        if self._left < 0:
            raise NoValue(f"the JMESPath looks at more than {MOST_VALUES:,} values here")
        return found
