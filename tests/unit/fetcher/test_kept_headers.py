"""Which response headers travel with a page."""

from tests.unit.fetcher.test_plans import SECRETS

from odradek.contracts import FetchRequest
from odradek.specification import JobSpecification
from odradek_fetcher.core.answers import Answer, Headers
from odradek_fetcher.core.facts import page_meta
from odradek_fetcher.core.plans import plan
from odradek_fetcher.core.verdicts import Verdict

ANSWERED = Headers([("ETag", '"1"'), ("Server", "caddy"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])


def kept(answered: Headers = ANSWERED, **spec: object) -> dict[str, str]:
    job = plan(JobSpecification.from_wire(spec), user_agent="Odradek/0.1", environ=SECRETS)
    url = "https://books.example/"
    request = FetchRequest(job="j", url=url, fp="0" * 32, key="books.example")
    answer = Answer(url=url, status=200, headers=answered, body=b"")
    verdict = Verdict(outcome="fetched")
    return page_meta(request, job, answer, verdict, now_ms=0, delays_s=(), body_digest=None).headers


def test_only_headers_that_later_stages_read_travel() -> None:
    assert kept() == {"etag": '"1"'}


def test_all_headers_travel_for_a_job_that_keeps_an_archive() -> None:
    assert kept(archive={"warc": "pages"}) == {"etag": '"1"', "server": "caddy", "set-cookie": "a=1\nb=2"}


def test_all_kept_headers_fit_into_a_kafka_message_beside_the_largest_body() -> None:
    flood = Headers([(f"X-{number}", "\xff" * 8192) for number in range(100)])
    assert sum(len(name) + len(value) for name, value in kept(flood, archive={"warc": "pages"}).items()) < 132_000


def test_directives_for_robots_stay_apart_by_header_so_that_a_name_counts_for_its_own_line() -> None:
    said = Headers([("X-Robots-Tag", "otherbot: noindex"), ("X-Robots-Tag", "nofollow")])
    assert kept(answered=said) == {"x-robots-tag": "otherbot: noindex\nnofollow"}
