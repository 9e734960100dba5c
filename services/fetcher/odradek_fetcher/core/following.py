"""Which redirects are followed on the spot: to the very same URL (cookie walls), and those of robots and sitemaps.

All others are facts: the target is judged and queued like any URL (rule K).
"""

from dataclasses import dataclass

import msgspec

from odradek.contracts import FetchRequest
from odradek.urls import CrawlUrl, identify, join
from odradek_fetcher.core.answers import Answer, Failure, Order
from odradek_fetcher.core.plans import Plan, without_secrets

REDIRECTS = frozenset((301, 302, 303, 307, 308))
MAX_HOPS = 10
"""Of one chain over all its URLs."""
MAX_ON_THE_SPOT = 5
"""RFC 9309 section 2.3.1.2 for robots.txt; as many for the rest."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a redirect leads."""

    url: str
    """Absolute, without fragment."""
    found: CrawlUrl | None
    """None: no URL that can be crawled (the parser refuses it by name)."""


def target(answer: Answer, plan: Plan) -> Target | None:
    """Where the answer redirects to; None when it does not, or to nothing that is a URL."""
    location = answer.headers.get("location") if answer.status in REDIRECTS else None
    url = join(answer.url, location) if location else None
    if url is None:
        return None
    fetch = plan.spec.fetch
    found = identify(url, plan.rules, method=fetch.method, body=plan.body)
    return Target(url.partition("#")[0], found if isinstance(found, CrawlUrl) else None)


def on_the_spot(request: FetchRequest, plan: Plan, order: Order, answer: Answer, hops: int) -> Order | Failure | None:
    """The next exchange when the redirect is followed here, why it cannot be, or None when the answer stands.

    `hops` exchanges were already made on the spot for this request.
    """
    if answer.status not in REDIRECTS:
        return None
    there = target(answer, plan)
    if there is None or there.found is None:
        return None
    if request.kind == "page" and there.found.fp != request.fp:
        return None
    if hops >= MAX_ON_THE_SPOT:
        if request.kind == "page":
            return Failure("redirect_loop", f"{request.url} redirects to itself again and again", lasting=True)
        return Failure("redirect_limit", f"more than {MAX_ON_THE_SPOT} redirects from {request.url}", lasting=True)
    same = same_place(order.url, there.found)
    headers = _with_cookies(order.headers, answer) if same else without_secrets(order.headers)
    return msgspec.structs.replace(order, url=there.url, host=there.found.host, headers=headers)


def chain_failure(request: FetchRequest, plan: Plan, there: Target) -> Failure | None:
    """Why the chain that led here may not go on to this target."""
    if len(request.chain) >= MAX_HOPS:
        return Failure("redirect_limit", f"more than {MAX_HOPS} redirects one after another", lasting=True)
    if there.found is None:
        return None
    for hop in request.chain:
        seen = identify(hop.url, plan.rules, method=plan.spec.fetch.method, body=plan.body)
        if isinstance(seen, CrawlUrl) and seen.fp == there.found.fp:
            return Failure("redirect_loop", f"the redirects come back to {there.url}", lasting=True)
    return None


def same_place(asked: str, there: CrawlUrl) -> bool:
    """True for one origin, and from http to https at their own ports."""
    here = identify(asked)
    if not isinstance(here, CrawlUrl) or here.host != there.host:
        return False
    upgraded = (here.scheme, here.port, there.scheme, there.port) == ("http", 80, "https", 443)
    return upgraded or (here.scheme, here.port) == (there.scheme, there.port)


def _with_cookies(headers: tuple[tuple[str, str], ...], answer: Answer) -> tuple[tuple[str, str], ...]:
    """The request's headers with the cookies that the answer sets; a cookie with an empty name is none."""
    new = [value.partition(";")[0].strip() for value in answer.headers.all("set-cookie")]
    new = [pair for pair in new if pair.partition("=")[0].strip() and pair.isascii() and pair.isprintable()]
    if not new:
        return headers
    jar = {}
    old = next((value for name, value in headers if name == "cookie"), "")
    for pair in [*old.split("; "), *new]:
        if pair:
            jar[pair.partition("=")[0].strip()] = pair
    kept = [(name, value) for name, value in headers if name != "cookie"]
    return (*kept, ("cookie", "; ".join(jar.values())))
