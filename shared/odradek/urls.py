"""What a URL is to a crawler: its canonical form, its fingerprint, and the host queue it belongs to.

The canonical URL is a key only; what is fetched is what the site gave. Its rules are a version of their own
(`RULES_VERSION`), part of every fingerprint, so that a change of rules can never merge two URLs by accident.
"""

import zlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import ip_address
from itertools import pairwise, product
from string import ascii_letters, digits, hexdigits

import ada_url
import msgspec
import tldextract
import xxhash

from odradek.contracts import RefusalReason

RULES_VERSION = 1
MAX_URL_LENGTH = 2083
"""Characters; longer ones are refused (`too_long`), as browsers and most crawlers do."""

_UNRESERVED = frozenset(ascii_letters + digits + "-._~")
"""RFC 3986 section 2.3: an escape of one of these means the character itself."""
_ESCAPES = {
    pair: chr(int(pair, 16)) if chr(int(pair, 16)) in _UNRESERVED else "%" + pair.upper()
    for pair in map("".join, product(hexdigits, repeat=2))
}
_DEFAULT_PORTS = {"http": 80, "https": 443}
_suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@dataclass(frozen=True, slots=True)
class UrlRules:
    """What a job may change about the key of its URLs."""

    drop_query_parameters: tuple[str, ...] = ("utm_*", "gclid", "fbclid")
    sort_query: bool = True


class CrawlUrl(msgspec.Struct, frozen=True, gc=False):
    """An absolute http(s) URL and all that follows from it."""

    url: str
    """To be fetched: serialised by the WHATWG rules, without fragment."""
    canonical: str
    fp: str
    key: str
    """Politeness key."""
    host: str
    """Lower case, punycode, without trailing dot; IPv6 in brackets."""
    port: int
    """The scheme's own when the URL names none."""
    scheme: str


DEFAULT_RULES = UrlRules()


def identify(
    url: str, rules: UrlRules = DEFAULT_RULES, *, method: str = "GET", body: bytes | None = None
) -> CrawlUrl | RefusalReason:
    """The URL with canonical form, fingerprint and politeness key, or why it cannot be crawled.

    Refused: `scheme` (not http or https), `malformed` (does not parse, its host has an empty last label, or it carries
    user:password), `too_long` (above `MAX_URL_LENGTH` without its fragment).
    """
    try:
        href = ada_url.normalize_url(url)
    except ValueError:
        return "malformed"
    return identify_normalised(href, rules, method=method, body=body)


def identify_normalised(
    href: str, rules: UrlRules = DEFAULT_RULES, *, method: str = "GET", body: bytes | None = None
) -> CrawlUrl | RefusalReason:
    """As `identify`, for what `join` gave: already serialised by the WHATWG rules, so that slicing is exact."""
    scheme, colon, _ = href.partition("://")
    if not colon or scheme not in _DEFAULT_PORTS:
        return "scheme"
    whole = href.partition("#")[0]
    if len(whole) > MAX_URL_LENGTH:
        return "too_long"
    authority, _, tail = whole[len(scheme) + 3 :].partition("/")
    place = _place(scheme, authority)
    if place is None:
        return "malformed"
    host, port, key, root = place
    path, _, query = tail.partition("?")
    if "%" in path:
        path = _settle_escapes(path)
    canonical = f"{root}/{path}{_canonical_query(query, rules)}" if query else f"{root}/{path}"
    return CrawlUrl(whole, canonical, fingerprint(canonical, method, body), key, host, port, scheme)


@lru_cache(maxsize=100_000)
def _place(scheme: str, authority: str) -> tuple[str, int, str, str] | None:
    """Host, port, politeness key and origin; None when it is no place to crawl."""
    if "@" in authority:
        return None
    name, colon, number = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        name, number = authority, ""
    host = name.removesuffix(".")
    if not host or host.endswith("."):
        return None
    port = int(number or _DEFAULT_PORTS[scheme])
    return host, port, politeness_key(host), _origin(scheme, host, port)


def _origin(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{host}" if port == _DEFAULT_PORTS[scheme] else f"{scheme}://{host}:{port}"


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
    return f"{found.domain}.{found.suffix}" if found.domain else host


def origin(url: CrawlUrl) -> str:
    """Scheme, host and port (default port left out): what a robots.txt speaks for (RFC 9309 section 2.3)."""
    return _origin(url.scheme, url.host, url.port)


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
    """Escapes in upper case, those of unreserved characters decoded, and a bare `%` escaped.

    Were a bare `%` left alone, `%%34%31` would become `%41`, which means something else.
    """
    head, *parts = text.split("%")
    return head + "".join([_ESCAPES.get(part[:2], "%25" + part[:2]) + part[2:] for part in parts])


def _canonical_query(query: str, rules: UrlRules) -> str:
    if "%" in query:
        query = _settle_escapes(query)
    pairs = [pair for pair in query.split("&") if pair]
    patterns = rules.drop_query_parameters
    if patterns:
        pairs = [pair for pair in pairs if not _dropped(_name(pair), patterns)]
    if rules.sort_query and len(pairs) > 1:
        pairs.sort(key=_name)
    return "?" + "&".join(pairs) if pairs else ""


def _name(pair: str) -> str:
    return pair.partition("=")[0]


@lru_cache(maxsize=10_000)
def _dropped(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def fingerprint_ranges(urls: int, together: int) -> list[tuple[str, str]]:
    """(first, end) of ranges of fingerprints with about `together` of so many URLs each; an empty end: no end.

    Fingerprints are hashes, so ranges of one width hold about as many. Never none, and at most 65,536.
    """
    count = min(65_536, max(1, -(-urls // together)))
    bounds = ["", *(f"{65_536 * number // count:04x}" for number in range(1, count)), ""]
    return list(pairwise(bounds))
