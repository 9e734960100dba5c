"""What became of a request: the outcome and reason of the closed lists, judged from the answer alone."""

from http import HTTPStatus

import msgspec

from odradek.contracts import FetchRequest, Outcome
from odradek_fetcher.core.answers import Answer
from odradek_fetcher.core.following import REDIRECTS, chain_failure, target
from odradek_fetcher.core.plans import Plan
from odradek_fetcher.core.soft_blocks import challenge

NOT_MODIFIED = 304
SUCCESS = range(200, 300)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one try."""

    outcome: Outcome
    reason: str | None = None
    error: str | None = None
    location: str | None = None
    """Absolute target of a redirect."""
    lasting: bool = False
    """A failure that no other try would mend."""


def judge(
    request: FetchRequest, plan: Plan, answer: Answer, *, same_bodies: bool = False, body_digest: str | None = None
) -> Verdict:
    """The verdict on an answer; `same_bodies`: the host gives this body for whatever is asked (see `SameBodies`).

    `body_digest`: of the body, where there is one; a page that is what it was when it was read last is not modified,
    also where the site cannot say so.
    """
    failure = answer.failure
    if failure is not None:
        return Verdict(outcome="failed", reason=failure.reason, error=failure.error, lasting=failure.lasting)
    status = answer.status or 0
    blocked = challenge(answer) if request.kind == "page" else None
    if blocked is None and same_bodies and status in SUCCESS:
        blocked = "the host gives one and the same body for every URL"
    if blocked is not None:
        return Verdict(outcome="failed", reason="soft_blocked", error=blocked)
    if status == NOT_MODIFIED and (request.etag or request.last_modified):
        return Verdict(outcome="not_modified")
    if status in REDIRECTS and answer.headers.get("location"):
        return _redirect(request, plan, answer)
    if status in SUCCESS:
        return _success(request, answer, body_digest)
    return Verdict(outcome="failed", reason=f"http_{status}", error=f"the site answered {status} {_phrase(status)}")


def _success(request: FetchRequest, answer: Answer, body_digest: str | None) -> Verdict:
    if answer.unwanted:
        return Verdict(outcome="skipped", reason="content_type")
    same = request.digest is not None and request.digest == body_digest and not answer.truncated
    return Verdict(outcome="not_modified" if same else "fetched")


def _redirect(request: FetchRequest, plan: Plan, answer: Answer) -> Verdict:
    there = target(answer, plan)
    if there is None:
        return Verdict(outcome="failed", reason="protocol", error="the site redirects to what is no URL", lasting=True)
    failure = chain_failure(request, plan, there)
    if failure is not None:
        return Verdict(outcome="failed", reason=failure.reason, error=failure.error, lasting=True)
    return Verdict(outcome="redirected", location=there.url)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(a status that no standard knows)"
