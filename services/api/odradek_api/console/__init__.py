"""The web console: HTML, CSS and ES modules that a browser runs as they are.

`files` reads them once; there is no build step, and nothing comes from other hosts.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from types import MappingProxyType

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file of the console as it is sent."""

    content: bytes
    kind: str
    etag: str


def console_files() -> Mapping[str, File]:
    """Every file of the console by its path, such as `js/main.js`."""
    return MappingProxyType(dict(_found(package_files(__name__), "")))


def _found(folder: Traversable, prefix: str) -> list[tuple[str, File]]:
    found: list[tuple[str, File]] = []
    for each in folder.iterdir():
        ending = each.name[each.name.rfind(".") :]
        if each.is_dir():
            found += _found(each, f"{prefix}{each.name}/")
        elif ending in KINDS:
            content = each.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found.append((f"{prefix}{each.name}", File(content, KINDS[ending], etag)))
    return found
