"""The reference documents, written from the code that they describe: `python -m odradek.reference [--check]`."""

import json
from pathlib import PurePosixPath

import msgspec

from odradek.reference.settings import settings_document
from odradek.reference.topics import topic_messages, topics_document


def documents() -> dict[PurePosixPath, str]:
    """Every generated document by its path in the repository."""
    schemas = {
        PurePosixPath(f"docs/schemas/{kind.__name__}.json"): json.dumps(msgspec.json.schema(kind), indent=2) + "\n"
        for kind in topic_messages()
    }
    return {
        PurePosixPath("docs/topics.md"): topics_document(),
        PurePosixPath("docs/settings.md"): settings_document(),
        **schemas,
    }
