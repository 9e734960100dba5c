"""What lies in the two stores, by name and shape: written by the indexer, read by the gateway and the command line."""

from odradek.stores.dead_letters import DEAD_LETTERS, dead_letter_document, dead_letter_matches
from odradek.stores.decimals import decimal128, plain_decimal
from odradek.stores.documents import connect_documents
from odradek.stores.events import (
    EVENT_MAPPINGS,
    LIFECYCLE_POLICY,
    LOGS_DATA_STREAM,
    TEMPLATE,
    bulk_path,
    count_path,
    delete_path,
    event_template,
    lifecycle_policy,
    refresh_path,
    search_path,
)
from odradek.stores.items import (
    ALL_ITEMS,
    ITEMS,
    Document,
    ItemFilter,
    collection_of,
    exported_json,
    exported_line,
    instant,
    item_document,
    job_range,
    page_of,
    plain,
    without_references,
)
from odradek.stores.search import SearchEngine, SearchRefused, connect_search
from odradek.stores.stretches import way_through

__all__ = [
    "ALL_ITEMS",
    "DEAD_LETTERS",
    "EVENT_MAPPINGS",
    "ITEMS",
    "LIFECYCLE_POLICY",
    "LOGS_DATA_STREAM",
    "TEMPLATE",
    "Document",
    "ItemFilter",
    "SearchEngine",
    "SearchRefused",
    "bulk_path",
    "collection_of",
    "connect_documents",
    "connect_search",
    "count_path",
    "dead_letter_document",
    "dead_letter_matches",
    "decimal128",
    "delete_path",
    "event_template",
    "exported_json",
    "exported_line",
    "instant",
    "item_document",
    "job_range",
    "lifecycle_policy",
    "page_of",
    "plain",
    "plain_decimal",
    "refresh_path",
    "search_path",
    "way_through",
    "without_references",
]
