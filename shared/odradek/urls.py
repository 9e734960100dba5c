"""What a URL is to a crawler: its canonical form, its fingerprint, and the host queue it belongs to.

The canonical URL is a key only; what is fetched is what the site gave. Its rules are a version of their own
(`RULES_VERSION`), part of every fingerprint, so that a change of rules can never merge two URLs by accident.
"""

import zlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import unquote_to_bytes

import ada_url
import tldextract
import xxhash

from odradek.contracts import RefusalReason

RULES_VERSION = 1
MAX_URL_LENGTH = 2083
"""Characters; longer ones are refused (`too_long`), as browsers and most crawlers do."""

UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""RFC 3986 section 2.3: an escape of one of these means the character itself."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@dataclass(frozen=True, slots=True)
class UrlRules:
    """What a job may change about the key of its URLs."""

    drop_query_parameters: tuple[str, ...] = ("utm_*", "gclid", "fbclid")
    sort_query: bool = True


@dataclass(frozen=True, slots=True)
class CrawlUrl:
    """An absolute http(s) URL and all that follows from it."""

    url: str
    """To be fetched: serialised by the WHATWG rules, without fragment."""
    canonical: str
    fp: str
    key: str
    """Politeness key."""
    host: str
    port: int
    scheme: str


DEFAULT_RULES = UrlRules()


def identify(
    url: str, rules: UrlRules = DEFAULT_RULES, *, method: str = "GET", body: bytes | None = None
) -> CrawlUrl | RefusalReason:
    """The URL with canonical form, fingerprint and politeness key, or why it cannot be crawled.

    Refused: `scheme` (not http or https), `malformed` (does not parse, no host, or carries user:password),
    `too_long`.
    """
    if len(url) > MAX_URL_LENGTH:
        return "too_long"
    try:
        href = ada_url.normalize_url(url)
    except ValueError:
        return "malformed"
    return identify_normalised(href, rules, method=method, body=body)


def identify_normalised(
    href: str, rules: UrlRules = DEFAULT_RULES, *, method: str = "GET", body: bytes | None = None
) -> CrawlUrl | RefusalReason:
    """As `identify`, for what `join` gave: already serialised by the WHATWG rules, so that slicing is exact."""
    scheme, colon, rest = href.partition("://")
    if not colon or scheme not in _DEFAULT_PORTS:
        return "scheme"
    if len(href) > MAX_URL_LENGTH:
        return "too_long"
    whole, _, _ = href.partition("#")
    rest = whole[len(scheme) + 3 :]
    authority, _, tail = rest.partition("/")
    if "@" in authority:
        return "malformed"
    host, port = _split_authority(authority, scheme)
    if not host:
        return "malformed"
    path, _, query = tail.partition("?")
    if "%" in path:
        path = _settle_escapes(path)
    shown = host if port == _DEFAULT_PORTS[scheme] else f"{host}:{port}"
    canonical = f"{scheme}://{shown}/{path}{_canonical_query(query, rules) if query else ''}"
    return CrawlUrl(whole, canonical, fingerprint(canonical, method, body), politeness_key(host), host, port, scheme)


def _split_authority(authority: str, scheme: str) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return authority.rstrip("."), _DEFAULT_PORTS[scheme]
    return host.rstrip("."), int(port)


def fingerprint(canonical: str, method: str = "GET", body: bytes | None = None) -> str:
    """128-bit hash (32 hexadecimal digits) of rules version, method, canonical URL and body."""
    head = f"{RULES_VERSION}\0{method}\0{canonical}\0".encode("utf-8", "surrogatepass")
    return xxhash.xxh3_128_hexdigest(head + body if body else head)


def join(base: str, href: str) -> str | None:
    """The absolute URL that `href` means on a page whose base URL is `base`; None when it cannot be one."""
    try:
        return ada_url.join_url(base, href)
    except ValueError:
        return None


@lru_cache(maxsize=100_000)
def politeness_key(host: str) -> str:
    """The unit that is polite as a whole: the registered domain by the public-suffix list (private section too).

    An IP address, a single label or a public suffix is its own key; of an unlisted top-level domain the last two
    labels count.
    """
    bare = host.strip("[]")
    if _is_address(bare) or "." not in host:
        return host
    found = _suffixes(host)
    if not found.suffix:
        return ".".join(host.split(".")[-2:])
    return found.top_domain_under_public_suffix or host


def origin(url: CrawlUrl) -> str:
    """Scheme, host and port (default port left out): what a robots.txt speaks for (RFC 9309 section 2.3)."""
    shown = "" if url.port == _DEFAULT_PORTS[url.scheme] else f":{url.port}"
    return f"{url.scheme}://{url.host}{shown}"


def partition_of(key: str, partitions: int) -> int:
    """The partition a key belongs to: CRC-32 modulo the count, as librdkafka's `consistent` partitioner has it."""
    return zlib.crc32(key.encode()) % partitions


def _is_address(host: str) -> bool:
    if not (host[:1].isdigit() or ":" in host):
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _settle_escapes(text: str) -> str:
    """Escapes in upper case; those of unreserved characters decoded."""
    parts = text.split("%")
    settled = [parts[0]]
    for part in parts[1:]:
        code = part[:2]
        if len(code) == 2 and all(c in "0123456789abcdefABCDEF" for c in code):  # noqa: PLR2004  (an escape is %XX)
            byte = unquote_to_bytes("%" + code)[0]
            settled.append((chr(byte) if byte in UNRESERVED else f"%{code.upper()}") + part[2:])
        else:
            settled.append("%" + part)
    return "".join(settled)


def _canonical_query(query: str, rules: UrlRules) -> str:
    if "%" in query:
        query = _settle_escapes(query)
    pairs = [pair for pair in query.split("&") if pair]
    if rules.drop_query_parameters:
        pairs = [pair for pair in pairs if not _dropped(pair.split("=", 1)[0], rules.drop_query_parameters)]
    if rules.sort_query:
        pairs.sort(key=lambda pair: pair.split("=", 1)[0])
    return "?" + "&".join(pairs) if pairs else ""


@lru_cache(maxsize=10_000)
def _dropped(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
