"""Which URLs belong to a job: the same judgement for seeds, links and redirect targets."""

from ipaddress import ip_address

from odradek.contracts import RefusalReason
from odradek.patterns import AnyOf
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify

DENIED_EXTENSIONS = frozenset(
    (
        "3gp 7z aac ai aif apk avi avif bin bmp bz2 class css csv dat deb dll dmg doc docm docx dot dotx dwg eot eps "
        "epub exe flac flv gif gz heic heif ico ics img iso jar jpe jpeg jpg js jxl less m4a m4b m4v map mdb mid midi "
        "mjs mkv mobi mov mp2 mp3 mp4 mpe mpeg mpg msi odb odc odf odg odp ods odt oga ogg ogv opus otf pdf pkg png "
        "pot potx pps ppsx ppt pptx ps psd pub rar rpm rtf scss so svg svgz swf tar tbz2 tgz tif tiff torrent ttf txz "
        "vcf wasm wav webm webp wma wmv woff woff2 xls xlsm xlsx xpi xz z zip zst"
    ).split()
)
"""What is hardly ever a page; a job may give a list of its own."""


def site_of(seed: CrawlUrl) -> str:
    """The scope that a seed opens by itself.

    Its registered domain if the seed is that domain or its www, else its host; an IP address means itself.
    """
    return seed.key if seed.host in (seed.key, f"www.{seed.key}") else seed.host


class Scope:
    """The filters of one version of a job, compiled once."""

    def __init__(self, spec: JobSpecification, *, hosts_remembered: int = 50_000) -> None:
        self._hosts_remembered = hosts_remembered
        rules = spec.scope
        self._allowed = None if rules.allowed_domains is None else tuple(map(_split_port, rules.allowed_domains))
        self._subdomains = rules.subdomains
        self._include = AnyOf(rules.include) if rules.include else None
        self._exclude = AnyOf(rules.exclude) if rules.exclude else None
        denied = rules.deny_extensions
        self._denied = DENIED_EXTENSIONS if denied == "default" else frozenset(denied)
        self._max_depth = rules.max_depth
        seeds = (identify(seed.url) for seed in spec.seeds) if self._allowed is None else ()
        self._own = frozenset(self._site_of(seed) for seed in seeds if isinstance(seed, CrawlUrl))
        self._hosts: dict[tuple[str, int, str | None], bool] = {}

    @classmethod
    def of(cls, spec: JobSpecification) -> "Scope":
        """The scope of this specification."""
        return cls(spec)

    def site(self, seed: CrawlUrl) -> str | None:
        """What a seed's facts carry as `site`, for all that descends from it; null where the job names its domains."""
        return None if self._allowed is not None else self._site_of(seed)

    def _site_of(self, seed: CrawlUrl) -> str:
        return site_of(seed) if self._subdomains else seed.host

    def refusal(
        self, url: CrawlUrl, *, depth: int, site: str | None = None, seed: bool = False
    ) -> RefusalReason | None:
        """Why the URL does not belong to the job, or None.

        `site` is inherited from the seed it descends from; without it the sites of the specification's own seeds count.
        Where the job names its domains they alone count. A seed (so also a seed's redirect target) opens its own site;
        it is bound by the named domains and by `exclude`, never by depth, extensions or `include`, which are for what
        is found.
        """
        if not self._host_allowed(url, None if seed else site, seed=seed):
            return "scope"
        if not seed and self._max_depth is not None and depth > self._max_depth:
            return "depth"
        if not seed and self._denied and _extension(url.canonical) in self._denied:
            return "extension"
        if self._exclude is not None and self._exclude.found_in(url.url):
            return "excluded"
        if not seed and self._include is not None and not self._include.found_in(url.url):
            return "excluded"
        return None

    def _host_allowed(self, url: CrawlUrl, site: str | None, *, seed: bool) -> bool:
        if self._allowed is None and seed:
            return True
        asked = (url.host, url.port, site)
        answer = self._hosts.get(asked)
        if answer is None:
            if len(self._hosts) >= self._hosts_remembered:
                self._hosts.clear()
            answer = self._hosts[asked] = self._judge_host(url, site)
        return answer

    def _judge_host(self, url: CrawlUrl, site: str | None) -> bool:
        if self._allowed is not None:
            return any(port in (None, url.port) and self._within(url.host, host) for host, port in self._allowed)
        return any(self._within(url.host, each) for each in (self._own if site is None else (site,)))

    def _within(self, host: str, domain: str) -> bool:
        return host == domain or (self._subdomains and host.endswith("." + domain) and not _is_address(host))


def _split_port(entry: str) -> tuple[str, int | None]:
    host, colon, port = entry.rpartition(":")
    if colon and not entry.endswith("]"):
        return host, int(port)
    return entry, None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _extension(canonical: str) -> str:
    last = canonical.partition("?")[0].rpartition("/")[2]
    return last.rpartition(".")[2].lower() if "." in last else ""
