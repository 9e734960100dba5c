"""An inspection for a person to read."""

import json
from collections.abc import Iterator
from typing import Any

MOST_RECORDS = 10
"""Of one rule; `--json` has all."""
MOST_LINKS = 5


def told(found: dict[str, Any]) -> str:
    """`Inspection.to_dict` as text."""
    return "\n".join([*_head(found), *(line for rule in found["rules"] for line in _rule(rule))])


def _head(found: dict[str, Any]) -> Iterator[str]:
    yield found["url"]
    yield f"  {found['kind']}, {found['encoding']} (known from: {found['encoding_source']})"
    if found["noindex"]:
        yield "  noindex: a crawl keeps no records of this page"
    links = found["links"]
    dropped = ", ".join([f"{count} {reason}" for reason, count in sorted(links["refused"].items())])
    forwarded = links["forwarded"]
    yield f"  links: {len(forwarded)} in scope, {links['duplicates']} repeated" + (f", {dropped}" if dropped else "")
    yield from (f"    {url}" for url in forwarded[:MOST_LINKS])
    if len(forwarded) > MOST_LINKS:
        yield f"    … {len(forwarded) - MOST_LINKS} more"


def _rule(rule: dict[str, Any]) -> Iterator[str]:
    records = rule["records"]
    malformed = sum(bool(record["malformed"]) for record in records)
    count = f"{len(records)} records" + (f", {malformed} of them malformed" if malformed else "")
    yield f"{rule['type']} ({rule['engine']}): {rule['silent'] or count}"
    for record in records[:MOST_RECORDS]:
        yield f"  {json.dumps(record['data'], ensure_ascii=False, default=str)}"
        yield from (f"    malformed: {problem}" for problem in record["malformed"])
    if len(records) > MOST_RECORDS:
        yield f"  … {len(records) - MOST_RECORDS} more"
    for why, times in rule["why_empty"].items():
        yield f"  empty in {times}: {why}"
