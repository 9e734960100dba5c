"""Which URLs belong to a job: the same judgement for seeds, links and redirect targets."""

from odradek.contracts import RefusalReason
from odradek.patterns import compile_pattern
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, politeness_key

DENIED_EXTENSIONS = frozenset(
    (
        "7z aac ai apk avi avif bin bmp bz2 class css csv deb dmg doc docx eot eps epub exe flac flv gif gz ico img "
        "iso jar jpeg jpg js m4a m4v map mid mjs mkv mov mp3 mp4 mpeg mpg msi odp ods odt ogg ogv otf pdf png ppt pptx ps "
        "psd rar rpm svg svgz swf tar tgz tif tiff torrent ttf wasm wav webm webp wmv woff woff2 xls xlsx xz zip zst"
    ).split()
)
"""What is hardly ever a page; a job may give a list of its own."""

_CACHE_LIMIT = 50_000


def site_of(seed: CrawlUrl) -> str:
    """The scope that a seed opens by itself.

    Its registered domain if the seed is that domain or its www, else its host; an IP address means itself.
    """
    return seed.key if seed.host in (seed.key, f"www.{seed.key}") else seed.host


class Scope:
    """One job's filters, compiled once."""

    def __init__(self, spec: JobSpecification) -> None:
        rules = spec.scope
        self._allowed = None if rules.allowed_domains is None else tuple(map(_split_port, rules.allowed_domains))
        self._subdomains = rules.subdomains
        self._include = [compile_pattern(pattern) for pattern in rules.include]
        self._exclude = [compile_pattern(pattern) for pattern in rules.exclude]
        denied = rules.deny_extensions
        self._denied = (
            DENIED_EXTENSIONS if denied == "default" else frozenset(each.lstrip(".").lower() for each in denied)
        )
        self._max_depth = rules.max_depth
        self._hosts: dict[tuple[str, int, str | None], bool] = {}

    def refusal(self, url: CrawlUrl, *, depth: int, site: str | None, seed: bool = False) -> RefusalReason | None:
        """Why the URL does not belong to the job, or None.

        `site` is the scope inherited from a seed; it counts only where the job names no domains. A seed is judged by
        `exclude` and, where domains are named, by them; depth, extension and `include` are for what is found.
        """
        if not self._host_allowed(url, site):
            return "scope"
        if any(pattern.search(url.url) for pattern in self._exclude):
            return "excluded"
        return None if seed else self._refusal_of_link(url, depth)

    def _refusal_of_link(self, url: CrawlUrl, depth: int) -> RefusalReason | None:
        if self._max_depth is not None and depth > self._max_depth:
            return "depth"
        if self._denied and _extension(url.canonical) in self._denied:
            return "extension"
        if self._include and not any(pattern.search(url.url) for pattern in self._include):
            return "excluded"
        return None

    def _host_allowed(self, url: CrawlUrl, site: str | None) -> bool:
        cached = self._hosts.get((url.host, url.port, site))
        if cached is None:
            cached = self._judge_host(url, site)
            if len(self._hosts) >= _CACHE_LIMIT:
                self._hosts.clear()
            self._hosts[(url.host, url.port, site)] = cached
        return cached

    def _judge_host(self, url: CrawlUrl, site: str | None) -> bool:
        allowed = self._allowed
        if allowed is None:
            allowed = ((site if site is not None else site_of(url), None),)
        return any(
            (port is None or port == url.port)
            and (url.host == host or (self._subdomains and not _is_literal(host) and url.host.endswith("." + host)))
            for host, port in allowed
        )


def _split_port(entry: str) -> tuple[str, int | None]:
    host, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and not host.endswith(":"):
        return host, int(port)
    return entry, None


def _is_literal(host: str) -> bool:
    return host.startswith("[") or (politeness_key(host) == host and host.replace(".", "").isdigit())


def _extension(canonical: str) -> str:
    last = canonical.partition("?")[0].rpartition("/")[2]
    return last.rpartition(".")[2].lower() if "." in last else ""
