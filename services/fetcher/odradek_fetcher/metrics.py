"""What Prometheus is told."""

from prometheus_client import Counter, Gauge, Histogram

FETCHES = Counter("odradek_fetches", "Finished tries by kind, outcome and reason.", ("kind", "outcome", "reason"))
UNFETCHED = Counter("odradek_fetcher_unfetched", "Requests that were not carried out.", ("reason",))
BYTES = Counter("odradek_fetched_bytes", "Bytes of bodies after content-decoding.")
SECONDS = Histogram(
    "odradek_fetch_seconds",
    "Time of one try, redirects on the spot included.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
OPEN = Gauge("odradek_fetches_open", "Requests that are being carried out.")
HELD = Gauge("odradek_fetcher_held_bytes", "Bodies that Kafka has not acknowledged yet.")
RESTING = Gauge("odradek_proxies_resting", "Proxies that rest after failures.")
LIMIT = Gauge("odradek_fetches_limit", "Requests that may be open at once at the present load.")
