"""Answers that only look like pages: challenges of bot protection, and one body for every URL.

Conservative: a page lost to a false alarm is worse than a challenge kept. What counts is what the protections say
about themselves in headers, or a short page made of nothing but their machinery.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from odradek_fetcher.core.answers import Answer
from odradek_fetcher.core.media import media_type

SHORT_BYTES = 64 * 1024
"""Challenge pages are short; a long page that mentions one is about it."""
_CHALLENGE_STATUS = frozenset((200, 202, 401, 403, 405, 429, 503))
_MARKS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("Cloudflare", (b"/cdn-cgi/challenge-platform/", b"<title>Just a moment...</title>")),
    ("Cloudflare", (b"/cdn-cgi/challenge-platform/", b"cf-browser-verification")),
    ("Imperva", (b"/_Incapsula_Resource", b"Request unsuccessful. Incapsula incident ID")),
    ("DataDome", (b"geo.captcha-delivery.com", b"var dd=")),
    ("PerimeterX", (b'id="px-captcha"', b"window._pxAppId")),
    ("Sucuri", (b"<title>You are being redirected...</title>", b"sucuri_cloudproxy_js")),
    ("AWS WAF", (b"window.gokuProps", b"AwsWafIntegration")),
)
"""All marks of a row must be there."""

RUN = 20
"""So many different URLs with one and the same body, of a host that had answered differently before."""
VARIETY = 3
"""Different bodies that a host must have shown before a run of equal ones counts against it."""
MAX_HOSTS = 10_000
MAX_BODIES = 32
"""Remembered of each host, and so many that several URLs share."""
_PAGES = frozenset((None, "text/html", "application/xhtml+xml"))
"""Media types that a block would have; that many requests to an API find nothing is no news."""
_OK = 200


def challenge(answer: Answer) -> str | None:
    """Whose challenge the answer is, as a sentence; None when it is none."""
    if answer.status not in _CHALLENGE_STATUS:
        return None
    get = answer.headers.get
    if (get("cf-mitigated") or "").lower() == "challenge":
        return "Cloudflare answers with a challenge instead of the page"
    if (get("x-amzn-waf-action") or "").lower() in ("challenge", "captcha"):
        return "AWS WAF answers with a challenge instead of the page"
    body = answer.body
    if not body or len(body) > SHORT_BYTES or b"<" not in body[:256]:
        return None
    for name, marks in _MARKS:
        if all(mark in body for mark in marks):
            return f"{name} answers with a challenge instead of the page"
    return None


def may_be_blocked(answer: Answer) -> bool:
    """True when the answer is of the kind that a host would give for every URL."""
    kind = media_type(answer.headers.get("content-type"))
    return answer.status == _OK and bool(answer.body) and not answer.unwanted and kind in _PAGES


@dataclass(slots=True)
class _Host:
    last: str = ""
    """Digest of the newest body."""
    urls: set[str] = field(default_factory=set)
    """That were answered with it without another body in between; no more than `RUN`."""
    others: set[str] = field(default_factory=set)
    """Digests that came between others."""
    shared: set[str] = field(default_factory=set)
    """Of these, those that several URLs had: a template without content, a page that says there is nothing."""


class SameBodies:
    """Notices when a host that used to have many pages has only one left, whatever is asked for.

    Left alone are hosts that never answered anything else, and bodies that several URLs share between other pages,
    however many there are in a row later: a shop's empty categories, a search without results.
    """

    def __init__(self) -> None:
        self._hosts: OrderedDict[tuple[str, str], _Host] = OrderedDict()

    def suspicious(self, job: str, host: str, fp: str, digest: str) -> bool:
        """Note that `fp` was answered with a body of this digest; True when that is one of a long run."""
        known = self._hosts.get((job, host))
        if known is None:
            known = self._hosts[(job, host)] = _Host()
            if len(self._hosts) > MAX_HOSTS:
                self._hosts.popitem(last=False)
        else:
            self._hosts.move_to_end((job, host))
        if digest != known.last:
            self._end_run(known)
            known.last, known.urls = digest, set()
        if len(known.urls) < RUN:
            known.urls.add(fp)
        long = len(known.urls) >= RUN
        return long and digest not in known.shared and len(known.others - {digest}) >= VARIETY

    @staticmethod
    def _end_run(known: _Host) -> None:
        if not known.last or len(known.urls) >= RUN:
            return  # what was suspicious does not become a page of the site when the block ends
        if (len(known.urls) > 1 or known.last in known.others) and len(known.shared) < MAX_BODIES:
            known.shared.add(known.last)
        if len(known.others) < MAX_BODIES:
            known.others.add(known.last)
