"""How a job's wishes become requests."""

import pytest

from odradek.contracts import Hop
from odradek.specification import MAX_BODY_BYTES, JobSpecification
from odradek.testing.records import a_request
from odradek_fetcher.core.answers import Order
from odradek_fetcher.core.plans import Plan, PlanProblem, order, plan

SECRETS = {"TOKEN": "s3cret", "PROXY": "socks5://u:p@proxy.example:1080"}


def a_plan(**fetch: object) -> Plan:
    return plan(JobSpecification.from_wire({"fetch": fetch}), user_agent="Odradek/0.1", environ=SECRETS)


def an_order(job: Plan, **changes: object) -> Order:
    return order(a_request(**changes), job, url="https://books.example/", host="books.example", proxy=None)


def headers(job: Plan, **changes: object) -> dict[str, str]:
    return dict(an_order(job, **changes).headers)


def test_a_plain_job_sends_who_it_is_and_what_it_takes() -> None:
    sent = headers(a_plan(accept=["text/html"]))
    assert sent == {
        "user-agent": "Odradek/0.1",
        "accept": "text/html,*/*;q=0.1",
        "accept-encoding": "gzip, deflate, br, zstd",
    }


def test_secrets_are_put_in_where_they_stand() -> None:
    job = a_plan(
        headers={"X-Key": "k-${env:TOKEN}"},
        cookies={"session": "${env:TOKEN}", "b": "2"},
        auth={"bearer": "${env:TOKEN}"},
        proxies=["${env:PROXY}"],
    )
    sent = headers(job)
    assert (sent["x-key"], sent["cookie"], sent["authorization"], job.proxies) == (
        "k-s3cret", "session=s3cret; b=2", "Bearer s3cret", ("socks5://u:p@proxy.example:1080",)
    )  # fmt: skip


def test_basic_credentials_are_encoded() -> None:
    assert (
        headers(a_plan(auth={"basic": "Aladdin:open sesame"}))["authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    )


@pytest.mark.parametrize("name", ["ODRADEK_MONGODB_URL", "odradek_api_keys"])
def test_odradeks_own_variables_are_no_secrets_of_a_job(name: str) -> None:
    with pytest.raises(PlanProblem, match="belongs to Odradek itself"):
        plan(
            JobSpecification.from_wire({"fetch": {"headers": {"X": f"${{env:{name}}}"}}}),
            user_agent="x",
            environ={name: "password"},
        )


def test_a_secret_that_is_not_there_is_named() -> None:
    with pytest.raises(PlanProblem, match="MISSING"):
        a_plan(headers={"X": "${env:MISSING}"})


@pytest.mark.parametrize("fetch", [{"headers": {"Host": "x"}}, {"headers": {"Content-Length": "5"}}])
def test_headers_that_frame_the_message_cannot_be_set(fetch: dict[str, object]) -> None:
    with pytest.raises(PlanProblem, match="cannot be set"):
        a_plan(**fetch)


def test_a_line_break_in_a_secret_does_not_become_a_header() -> None:
    with pytest.raises(PlanProblem, match="cannot be sent"):
        plan(
            JobSpecification.from_wire({"fetch": {"headers": {"X": "${env:A}"}}}),
            user_agent="x",
            environ={"A": "1\r\nEvil: 1"},
        )


def test_blanks_around_a_secret_are_not_sent() -> None:
    spec = {"headers": {"X": "${env:A}"}, "auth": {"bearer": "${env:A}"}, "cookies": {"c": "${env:A}"}}
    job = plan(JobSpecification.from_wire({"fetch": spec}), user_agent="x", environ={"A": " s3cret\t"})
    assert [headers(job)[name] for name in ("x", "authorization", "cookie")] == ["s3cret", "Bearer s3cret", "c=s3cret"]


@pytest.mark.parametrize("value", ["user:pa55@proxy.example:3128", "ftp://user:pa55@proxy.example", "socks5://"])
def test_a_secret_that_is_no_proxy_is_named_and_not_told(value: str) -> None:
    with pytest.raises(PlanProblem, match=r"the proxy \$\{env:P\} .* stands for no address") as problem:
        plan(JobSpecification.from_wire({"fetch": {"proxies": ["${env:P}"]}}), user_agent="x", environ={"P": value})
    assert value not in str(problem.value)


def test_a_validator_that_is_no_ascii_is_left_out() -> None:
    sent = headers(a_plan(), etag='"caf\xe9"', last_modified="yesterday\r\nEvil: 1")
    assert set(sent) == {"user-agent", "accept", "accept-encoding"}


@pytest.mark.parametrize("fp", ["", "no hexadecimal digits", "0" * 32])
def test_any_fingerprint_has_a_turn(fp: str) -> None:
    assert headers(a_plan(user_agents=["a", "b"]), fp=fp)["user-agent"] in ("a", "b")


@pytest.mark.parametrize(
    ("came_by", "domains", "told"),
    [
        ((), None, True), (("https://www.books.example/",), None, True), (("https://other.example/",), None, False),
        (("https://other.example/",), ["books.example", "other.example"], True),
    ],
)  # fmt: skip
def test_secrets_are_not_told_to_a_site_that_redirects_led_to(
    came_by: tuple[str, ...],
    domains: list[str] | None,
    told: bool,  # noqa: FBT001  (a case)
) -> None:
    fetch = {"auth": {"bearer": "${env:TOKEN}"}, "headers": {"X-Key": "${env:TOKEN}"}, "cookies": {"c": "1"}}
    job = plan(
        JobSpecification.from_wire({"fetch": fetch, "scope": {"allowed_domains": domains}}),
        user_agent="Odradek/0.1",
        environ=SECRETS,
    )
    sent = headers(job, key="books.example", chain=tuple(Hop(url=url, status=302) for url in came_by))
    assert {name in sent for name in ("authorization", "x-key", "cookie")} == {told}
    assert sent["user-agent"] == "Odradek/0.1"


def test_user_agents_take_turns_by_url_and_try() -> None:
    job = a_plan(user_agents=["a", "b", "c"])
    by_try = [headers(job, fp="0" * 32, attempt=attempt)["user-agent"] for attempt in range(4)]
    by_url = {headers(job, fp=f"{number:032x}"[::-1])["user-agent"] for number in range(40)}
    assert (by_try, by_url) == (["a", "b", "c", "a"], {"a", "b", "c"})


def test_validators_of_the_request_are_sent() -> None:
    sent = headers(a_plan(), etag='"v1"', last_modified="Mon, 01 Jan 2024 00:00:00 GMT")
    assert (sent["if-none-match"], sent["if-modified-since"]) == ('"v1"', "Mon, 01 Jan 2024 00:00:00 GMT")


def test_robots_and_sitemaps_are_asked_for_by_get_without_body() -> None:
    job = a_plan(method="POST", body="q=1")
    page, robots, sitemap = (an_order(job, kind=kind) for kind in ("page", "robots", "sitemap"))
    assert [(each.method, each.body) for each in (page, robots, sitemap)] == [
        ("POST", b"q=1"), ("GET", None), ("GET", None)
    ]  # fmt: skip
    assert (robots.accept, robots.max_bytes) == (None, 512_000)
    assert "application/gzip" in (sitemap.accept or ())
    assert sitemap.max_bytes == MAX_BODY_BYTES > page.max_bytes


def test_a_seed_may_be_a_packed_sitemap() -> None:
    asked = [an_order(a_plan(), url=f"https://books.example/{name}", seed=seed).accept or frozenset()
             for name, seed in (("s.xml.gz", True), ("s.xml.gz", False), ("s.xml", True))]  # fmt: skip
    assert ["application/gzip" in accept for accept in asked] == [True, False, False]
