"""What Prometheus is told."""

from prometheus_client import Counter, Histogram

PAGES = Counter("odradek_parsed_pages", "Pages by outcome.", ("outcome",))
LINKS = Counter("odradek_parsed_links", "Links by what became of them.", ("became",))
FORWARDED, DUPLICATE, REFUSED = map(LINKS.labels, ("forwarded", "duplicate", "refused"))
ITEMS = Counter("odradek_parsed_items", "Records that became items.")
MALFORMED = Counter("odradek_parsed_malformed", "Records that became dead letters.")
POISON = Counter("odradek_parser_poison", "Pages that could not be read.")
REPARSED = Counter("odradek_reparsed_pages", "Pages read again with newer rules.")
SECONDS = Histogram(
    "odradek_parse_seconds", "Time of one page.", buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1, 5)
)
