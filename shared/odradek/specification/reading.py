"""What a job says of reading pages, in short: a page that was read with other rules is to be read again."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import xxhash

_READ_BY: Final = ("extract", "plugins", "meta", "items")
_LIMITS: Final = ("max_pages", "max_pages_per_host")
"""Of the scope: how far a crawl goes, not what a page brings."""


def reading_rules(spec: Mapping[str, Any]) -> str:
    """Eight hexadecimal digits; the same for specifications, as they travel, that read pages alike."""
    scope = {name: value for name, value in (spec.get("scope") or {}).items() if name not in _LIMITS}
    robots = (spec.get("politeness") or {}).get("respect_robots", True)
    read_by = [*(spec.get(name) for name in _READ_BY), sorted(scope.items()), robots]
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode(read_by, order="sorted"))[:8]
