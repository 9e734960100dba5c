"""How a job wants its URLs asked for, worked out once for each version of its specification."""

import base64
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from odradek.contracts import FetchRequest
from odradek.specification import MAX_BODY_BYTES, JobSpecification
from odradek.urls import CrawlUrl, UrlRules, identify
from odradek_fetcher.core.answers import Order
from odradek_fetcher.core.decoding import ACCEPT_ENCODING
from odradek_fetcher.core.media import SITEMAP_TYPES

ROBOTS_BYTES = 500 * 1024
"""RFC 9309 section 2.5: at least so much of a robots.txt is read."""

_SECRET = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_BLANKS = " \t"
"""Around a header's value they do not belong to it (RFC 9110 section 5.5); h11 would quote the secret in its error."""
_CLOSED = "ODRADEK_"
"""The service's own variables (passwords of engines among them) are no secrets of a job."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_PROXY = re.compile(r"(https?|socks5h?)://[^\s/]+/?\Z")
_UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PUBLIC = frozenset(("user-agent", "accept", "accept-encoding", "accept-language"))
_OURS = frozenset(("host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "expect"))
"""Headers that frame the message; a job cannot set them."""


class PlanProblem(Exception):  # noqa: N818  (a value of the job, not an error of ours)
    """The specification cannot be carried out here; one sentence for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that is the same for every URL of one version of a job."""

    spec: JobSpecification
    rules: UrlRules
    headers: tuple[tuple[str, str], ...]
    """Without user agent and validators."""
    user_agents: tuple[str, ...]
    accept: frozenset[str]
    body: bytes | None
    proxies: tuple[str, ...]


def plan(spec: JobSpecification, *, user_agent: str, environ: Mapping[str, str]) -> Plan:
    """The plan of a specification; `user_agent` is what goes out when the job names none.

    Raises:
        PlanProblem: a secret is not there or is no proxy, or a header cannot be sent.
    """
    fetch = spec.fetch
    given = {name.lower(): _resolved(value, environ).strip(_BLANKS) for name, value in fetch.headers.items()}
    agents = (given.pop("user-agent"),) if "user-agent" in given else fetch.user_agents
    headers = {
        "accept": ",".join(fetch.accept) + ",*/*;q=0.1",
        "accept-encoding": ACCEPT_ENCODING,
        **given,
    }
    cookies = {name: _resolved(value, environ).strip(_BLANKS) for name, value in fetch.cookies.items()}
    if cookies:
        headers["cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    authorization = _authorization(spec, environ)
    if authorization is not None:
        headers["authorization"] = authorization
    agents = tuple(_resolved(agent, environ).strip(_BLANKS) for agent in agents) or (fetch.user_agent or user_agent,)
    _check({**headers, **{f"user-agent-{place}": agent for place, agent in enumerate(agents)}})
    return Plan(
        spec=spec,
        rules=spec.scope.url_rules,
        headers=tuple(headers.items()),
        user_agents=agents,
        accept=frozenset(entry.strip().lower() for entry in fetch.accept),
        body=None if fetch.body is None else _resolved(fetch.body, environ).encode(),
        proxies=tuple(_proxy(proxy, environ) for proxy in fetch.proxies),
    )


def order(request: FetchRequest, plan: Plan, *, url: str, host: str, proxy: str | None) -> Order:
    """The first exchange for a request. Robots and sitemaps are always asked for by GET, without the job's body.

    A later try takes the other HTTP library, in case the first one was the trouble.
    """
    fetch, page = plan.spec.fetch, request.kind == "page"
    agent = plan.user_agents[turn(request) % len(plan.user_agents)]
    given = without_secrets(plan.headers) if _led_away(request, plan) else plan.headers
    headers = (("user-agent", agent), *given, *_validators(request))
    return Order(
        method=fetch.method if page else "GET",
        url=url,
        host=host,
        headers=headers,
        body=plan.body if page else None,
        accept=_accept(request, plan),
        max_bytes={"page": fetch.max_bytes, "sitemap": MAX_BODY_BYTES, "robots": ROBOTS_BYTES}[request.kind],
        proxy=proxy,
        http2=fetch.http2,
        verify_tls=fetch.verify_tls,
        careful=request.attempt > 0,
    )


def _accept(request: FetchRequest, plan: Plan) -> frozenset[str] | None:
    """Media types whose body is read; a seed that is a packed sitemap may be sent as what it is."""
    if request.kind != "page":
        return SITEMAP_TYPES if request.kind == "sitemap" else None
    packed = request.seed and plan.spec.scope.sitemaps and request.url.partition("?")[0].endswith(".gz")
    return plan.accept | SITEMAP_TYPES if packed else plan.accept


def turn(request: FetchRequest) -> int:
    """Which of several user agents or proxies a request gets: spread by its fingerprint, another one with each try."""
    return zlib.crc32(request.fp.encode()) + request.attempt


def without_secrets(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """What any host may be told: any header that a job names itself can be a key."""
    return tuple((name, value) for name, value in headers if name in _PUBLIC)


def _led_away(request: FetchRequest, plan: Plan) -> bool:
    """True when redirects led to another site than the one that the job's credentials are for."""
    return plan.spec.scope.allowed_domains is None and any(_key(hop.url) != request.key for hop in request.chain)


def _key(url: str) -> str | None:
    found = identify(url)
    return found.key if isinstance(found, CrawlUrl) else None


def _validators(request: FetchRequest) -> list[tuple[str, str]]:
    pairs = (("if-none-match", request.etag), ("if-modified-since", request.last_modified))
    return [(name, value) for name, value in pairs if value is not None and value.isprintable() and value.isascii()]


def _authorization(spec: JobSpecification, environ: Mapping[str, str]) -> str | None:
    auth = spec.fetch.auth
    if auth is None:
        return None
    if auth.bearer is not None:
        return f"Bearer {_resolved(auth.bearer, environ).strip(_BLANKS)}"
    if auth.basic is not None:
        return "Basic " + base64.b64encode(_resolved(auth.basic, environ).encode()).decode()
    return None


def _resolved(text: str, environ: Mapping[str, str]) -> str:
    def secret(match: re.Match[str]) -> str:
        name = match[1]
        if name.upper().startswith(_CLOSED):
            raise PlanProblem(f"the job asks for the variable {name}, which belongs to Odradek itself")
        if name not in environ:
            raise PlanProblem(f"the variable {name}, which the job asks for, is not set where the fetcher runs")
        return environ[name]

    return _SECRET.sub(secret, text) if "${" in text else text


def _proxy(text: str, environ: Mapping[str, str]) -> str:
    proxy = _resolved(text, environ)
    if not _PROXY.match(proxy):
        raise PlanProblem(f"the proxy {text} of the job stands for no address such as http://HOST:PORT")
    return proxy


def _check(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _TOKEN.match(name) or name in _OURS:
            raise PlanProblem(f"the job sets the header {name}, which cannot be set")
        if _UNSAFE.search(value) or not value.isprintable() or not value.isascii():
            raise PlanProblem(f"the header {name} of the job has characters that cannot be sent")
