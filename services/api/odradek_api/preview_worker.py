"""The process that previews are made in: it fetches a page and reads it by a job's rules, and has no secrets.

    python -m odradek_api.preview_worker

A line of JSON in, {url, spec}; a line of JSON out, {page, inspection} or {error}. It ends when its input does. Fetcher
and parser are found by entry point, so this uses what they use: the same guards, limits, decoding and engines.
"""

import os
import resource
import sys
import time
from collections import OrderedDict
from typing import Any, BinaryIO, Final

import msgspec

from odradek.cli.tools import MOST_HOPS, page_of, tool
from odradek.contracts import PageMeta
from odradek.errors import UserError
from odradek.specification import JobSpecification

MEMORY_BYTES: Final = 3 * 1024**3
KEPT_PAGES: Final = 8
KEPT_S: Final = 300.0
MOST_RECORDS: Final = 100
MOST_CHARACTERS: Final = 2000
"""Of one value; a preview is looked at."""

Fetched = tuple[bytes | None, PageMeta]


class KeptPages:
    """The last pages, so that changing a rule does not ask the site again."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, tuple[float, Fetched]] = OrderedDict()

    def get(self, key: str, now_s: float) -> Fetched | None:
        """The page, unless it is too old."""
        found = self._pages.get(key)
        return found[1] if found is not None and now_s - found[0] < KEPT_S else None

    def keep(self, key: str, fetched: Fetched, now_s: float) -> None:
        """Keep it instead of the oldest."""
        self._pages[key] = (now_s, fetched)
        self._pages.move_to_end(key)
        while len(self._pages) > KEPT_PAGES:
            self._pages.popitem(last=False)


def answer(asked: dict[str, Any], pages: KeptPages, now_s: float) -> dict[str, Any]:
    """What a page gives under a specification.

    Raises:
        UserError: the URL cannot be crawled, or the specification not be carried out here.
    """
    spec = JobSpecification.from_wire(asked["spec"])
    key = msgspec.json.encode([asked["url"], asked["spec"].get("fetch")], order="deterministic").decode()
    known = pages.get(key, now_s)
    body, meta = known or page_of(asked["url"], spec)
    if meta.outcome == "fetched":
        pages.keep(key, (body, meta), now_s)
    page = {
        "url": meta.final_url or meta.request.url,
        "status": meta.status,
        "content_type": meta.content_type,
        "size_bytes": meta.size_bytes,
        "duration_ms": meta.timings.total_ms,
        "kept": known is not None,
        "problem": None if meta.outcome == "fetched" else _problem(meta),
    }
    if meta.outcome != "fetched" or body is None:
        return {"page": page, "inspection": None}
    return {"page": page, "inspection": _short(tool("inspect")(spec, meta, body))}


def _problem(meta: PageMeta) -> str:
    if meta.outcome == "redirected":
        return f"It redirects more than {MOST_HOPS} times, at last to {meta.location}."
    return f"It gave no page: {meta.error or meta.reason or meta.outcome}."


def _short(inspection: dict[str, Any]) -> dict[str, Any]:
    rules = [
        rule | {"records": rule["records"][:MOST_RECORDS], "found": len(rule["records"])}
        for rule in inspection["rules"]
    ]
    links = inspection["links"]
    links = links | {"forwarded": links["forwarded"][:MOST_RECORDS], "found": len(links["forwarded"])}
    shown: dict[str, Any] = _cut(inspection | {"rules": rules, "links": links})
    return shown


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MOST_CHARACTERS else f"{value[:MOST_CHARACTERS]} …"
    if isinstance(value, dict):
        return {str(name): _cut(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(each) for each in value]
    return value if isinstance(value, int | float | bool | None) else str(value)


def only_answers_out() -> BinaryIO:
    """The output for answers alone; what a library prints goes to the errors, where it is taken for no answer."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def main() -> None:
    """Answer until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    answers = only_answers_out()
    pages = KeptPages()
    for line in sys.stdin.buffer:
        try:
            found = answer(msgspec.json.decode(line), pages, time.monotonic())
        except (UserError, RecursionError, MemoryError) as error:
            found = {"error": str(error) or type(error).__name__}
        answers.write(msgspec.json.encode(found) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
