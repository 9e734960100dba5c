"""The job specification: its defaults, what it accepts, and what is said when it is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from odradek.errors import UserError
from odradek.specification import (
    JobSpecification,
    Seed,
    duration_s,
    load_job_file,
    parse_yaml,
    problems,
    redacted,
    size_bytes,
    validated,
)
from odradek.urls import UrlRules

EVERYTHING = """
name: books
seeds: ["https://books.example/", {url: "https://books.example/x", priority: 7, depth: 2, meta: {shelf: 1}}]
scope:
  allowed_domains: [books.example, "shop.example:8080"]
  subdomains: false
  include: ["/catalogue/"]
  exclude: ["secret"]
  deny_extensions: [pdf]
  max_depth: 3
  max_pages: 100
  max_pages_per_host: 10
  follow_links: false
  sitemaps: false
  drop_query_parameters: [sid]
  sort_query: false
traps: {max_path_depth: 30, min_new_share: 0.1}
strategy: depth_first
priority: 80
expires: 2030-01-31T12:00:00+01:00
politeness: {respect_robots: false, delay: 250ms, concurrency_per_host: 2, max_delay: 2m, latency_factor: 5}
fetch:
  method: post
  body: "a=b"
  user_agent: me
  user_agents: [a, b]
  headers: {X-Number: 1}
  cookies: {c: "1"}
  auth: {bearer: "${env:TOKEN}"}
  proxies: ["http://proxy.example:3128", "socks5://proxy.example:1080", "http://u:${env:PASSWORD}@p.example:1"]
  http2: false
  verify_tls: false
  timeout: 1m
  max_bytes: 15MiB
  retries: 0
  accept: [text/html]
extract:
  - type: book
    match: "/catalogue/"
    each: "article.product"
    key: [sku]
    locale: de-DE
    fields:
      sku:    {css: "&", attr: data-sku, required: true}
      title:  {css: "h3", default: none}
      price:  {css: ".price", type: decimal}
      tags:   {css: ".tag", many: true}
      note:   {css: ".note", regex: "(\\\\d+)"}
      maker:  {xpath: ".//span", fields: {name: {css: "& > b"}}}
  - type: offer
    each: "offers[?stock > `0`]"
    fields: {stock: {json: stock, type: integer}}
  - {type: structured_data, builtin: structured_data}
plugins: ["shop.rules:books"]
meta: {team: a}
schedule: {fresh_by: 08:00, timezone: Europe/Berlin}
webhooks: ["https://hooks.example/a"]
archive: {warc: "s3://bucket/x"}
items: {collection: books-2026}
"""


def a_spec(**values: Any) -> JobSpecification:
    return JobSpecification.parse(values)


def a_rule(**field: Any) -> dict[str, Any]:
    return {"extract": [{"type": "t", "fields": {"f": field}}]}


def complaints(**values: Any) -> list[dict[str, str]]:
    with pytest.raises(ValidationError) as caught:
        JobSpecification.parse(values)
    return problems(caught.value)


def test_the_defaults_are_those_of_the_contract() -> None:
    assert a_spec().model_dump(mode="json", by_alias=True) == {
        "name": None, "seeds": [],
        "scope": {
            "allowed_domains": None, "subdomains": True, "include": [], "exclude": [], "deny_extensions": "default",
            "max_depth": None, "max_pages": None, "max_pages_per_host": None, "follow_links": True, "sitemaps": True,
            "drop_query_parameters": ["utm_*", "gclid", "fbclid"], "sort_query": True,
        },
        "traps": {
            "max_url_length": 1000, "max_path_depth": 20, "max_repeats": 3, "max_query_parameters": 20,
            "max_queries_per_path": 100_000, "years_ahead": 3, "years_back": 200, "quarantine_after": 100,
            "min_new_share": 0.05,
        },
        "strategy": "breadth_first", "priority": 50, "expires": None,
        "politeness": {
            "respect_robots": True, "delay": 1.0, "concurrency_per_host": 1, "max_delay": 60.0, "latency_factor": 0.0,
        },
        "fetch": {
            "method": "GET", "body": None, "user_agent": None, "user_agents": [], "headers": {}, "cookies": {},
            "auth": None, "proxies": [], "http2": True, "verify_tls": True, "timeout": 30.0, "max_bytes": 8388608,
            "retries": 3,
            "accept": [
                "text/html", "application/xhtml+xml", "application/xml", "text/xml", "application/json",
                "application/rss+xml", "application/atom+xml",
            ],
        },
        "extract": None, "plugins": [], "meta": {}, "schedule": None, "webhooks": [], "archive": None,
        "items": {"collection": "items"},
    }  # fmt: skip


def test_a_specification_with_everything_survives_the_wire() -> None:
    spec = validated(parse_yaml(EVERYTHING, "a.yaml"), "a.yaml")
    wire = spec.to_wire()
    assert JobSpecification.from_wire(json.loads(json.dumps(wire))) == spec
    assert wire["expires"] == "2030-01-31T11:00:00Z"
    assert wire["politeness"] == {
        "respect_robots": False, "delay": 0.25, "concurrency_per_host": 2, "max_delay": 120.0,
        "latency_factor": 5.0,
    }  # fmt: skip
    assert wire["traps"] == {"max_path_depth": 30, "min_new_share": 0.1}
    assert set(wire) == set(JobSpecification.model_fields)


def test_the_wire_carries_only_what_differs_from_the_defaults() -> None:
    spec = a_spec(name="a", politeness={"delay": "1s", "max_delay": "2m"})
    assert spec.to_wire() == {"name": "a", "politeness": {"max_delay": 120.0}}


@pytest.mark.parametrize("delay", ["0.000001ms", 1e-9, 0, "999999d"])
def test_every_delay_survives_the_wire(delay: object) -> None:
    spec = a_spec(politeness={"delay": delay})
    assert JobSpecification.from_wire(json.loads(json.dumps(spec.to_wire()))) == spec


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("5min", 300), ("1h", 3600), ("2d", 172_800), ("250ms", 0.25), ("1.5 s", 1.5),
     ("30", 30), (30, 30), (0.5, 0.5), (0, 0)],
)  # fmt: skip
def test_durations_are_a_number_and_a_unit(text: object, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "-1", -1, "5 weeks", "1h30m", "1e3", True, None, float("inf"), 10**400, "9" * 400]
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        duration_s(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8MiB", 8 << 20), ("1KB", 1000), ("1KiB", 1024), ("1.5 MB", 1_500_000), ("1GB", 10**9), ("1GiB", 1 << 30),
     ("7B", 7), ("1024", 1024), (1024, 1024)],
)  # fmt: skip
def test_sizes_are_a_number_and_a_unit(text: object, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-1B", "1 TB", True, None, float("nan"), "9" * 400])
def test_what_is_no_size_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        size_bytes(text)


@pytest.mark.parametrize(
    ("expires", "at_ms"),
    [(None, None), ("1h", 3_601_000), (2, 3_000), ("1970-01-01T00:00:05Z", 5_000), ("1970-01-01T01:00:05+01:00", 5_000),
     ("1970-01-01T00:00:05", 5_000)],
)  # fmt: skip
def test_a_job_expires_a_duration_after_acceptance_or_at_an_instant(expires: object, at_ms: int | None) -> None:
    assert a_spec(expires=expires).expires_at_ms(1_000) == at_ms


def test_a_seed_may_be_a_url_alone() -> None:
    assert a_spec(seeds=["https://a.example/", {"url": "https://b.example/", "depth": 1}]).seeds == (
        Seed(url="https://a.example/"),
        Seed(url="https://b.example/", depth=1),
    )


def test_a_job_without_name_is_called_after_the_host_of_its_first_seed() -> None:
    assert a_spec(seeds=["https://Books.example:8080/a"]).name == "books.example"
    assert a_spec(seeds=[{"url": "https://b.example/"}]).name == "b.example"
    assert a_spec(name="mine", seeds=["https://a.example/"]).name == "mine"
    assert a_spec().name is None


def test_the_rules_for_urls_are_those_of_the_job() -> None:
    rules = a_spec(scope={"drop_query_parameters": ["sid"], "sort_query": False}).scope.url_rules
    assert rules == UrlRules(drop_query_parameters=("sid",), sort_query=False)
    assert a_spec().scope.url_rules == UrlRules()


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ({"politness": {}}, "politness", "unknown field; did you mean politeness?"),
        ({"scope": {"max_dept": 1}}, "scope.max_dept", "unknown field; did you mean max_depth?"),
        ({"archive": {"warc": "x", "zzz": 1}}, "archive.zzz", "unknown field; known are warc"),
        (a_rule(css="a", atr="b"), "extract.0.fields.f.atr", "unknown field; did you mean attr?"),
        (a_rule(css="a", fields={"g": {"jsn": "b"}}), "extract.0.fields.f.fields.g.jsn",
         "unknown field; did you mean json?"),
        ({"scope": {"max_pages": 0}}, "scope.max_pages", "must be greater than or equal to 1"),
        ({"scope": {"max_pages": "x"}}, "scope.max_pages", "must be a whole number"),
        ({"scope": []}, "scope", "must be a mapping"),
        ({"seeds": "https://a.example/"}, "seeds", "must be a list"),
        ({"seeds": [{}]}, "seeds.0.url", "is required"),
        ({"priority": 101}, "priority", "must be less than or equal to 100"),
        ({"fetch": {"timeout": 0}}, "fetch.timeout", "must be greater than 0"),
        ({"strategy": "random"}, "strategy", "must be 'breadth_first' or 'depth_first'"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_with_a_sentence(values: dict[str, Any], field: str, message: str) -> None:
    found = complaints(**values)
    assert [each for each in found if each["field"] == field] == [{"field": field, "message": message}]


@pytest.mark.parametrize(
    ("values", "field", "hint"),
    [
        ({"seeds": ["books.example"]}, "seeds.0.url", "write https://books.example"),
        ({"seeds": ["ftp://books.example/"]}, "seeds.0.url", "not an http or https URL"),
        ({"seeds": ["http://u:p@books.example/"]}, "seeds.0.url", "fetch.auth"),
        ({"seeds": ["http://a.example/" + "x" * 3000]}, "seeds.0.url", "2,083"),
        ({"scope": {"allowed_domains": ["https://a.example"]}}, "scope.allowed_domains.0", "write books.example"),
        ({"scope": {"allowed_domains": ["*.a.example"]}}, "scope.allowed_domains.0", "write books.example"),
        ({"scope": {"allowed_domains": ["a.example:99999"]}}, "scope.allowed_domains.0", "write books.example"),
        ({"scope": {"include": ["ok", "("]}}, "scope.include.1", "missing ): ("),
        ({"scope": {"exclude": ["(?=a)"]}}, "scope.exclude.0", "not RE2 syntax"),
        ({"scope": {"exclude": [r"\pL{300}"] * 60}}, "scope.exclude", "too large together"),
        ({"scope": {"deny_extensions": "pdf"}}, "scope.deny_extensions", "a list of extensions"),
        ({"politeness": {"delay": -1}}, "politeness.delay", "such as 30s"),
        ({"expires": "soon"}, "expires", "such as 24h"),
        ({"fetch": {"max_bytes": "16MiB"}}, "fetch.max_bytes", "at most 15MiB"),
        ({"fetch": {"max_bytes": 0}}, "fetch.max_bytes", "at least 1 byte"),
        ({"fetch": {"headers": {"X": "a\r\nY: b"}}}, "fetch.headers.X", "no line breaks"),
        ({"fetch": {"auth": {}}}, "fetch.auth", "exactly one of basic or bearer"),
        ({"fetch": {"proxies": ["proxy.example:80"]}}, "fetch.proxies.0", "socks5://HOST:PORT"),
        (a_rule(css="h3::text"), "extract.0.fields.f.css", "`attr:`"),
        (a_rule(css="a::attr(href)"), "extract.0.fields.f.css", "`attr:`"),
        (a_rule(css="a["), "extract.0.fields.f.css", "not a CSS selector"),
        (a_rule(css=" "), "extract.0.fields.f.css", "1 to 4,000"),
        (a_rule(xpath="//a["), "extract.0.fields.f.xpath", "not an XPath"),
        (a_rule(json="a["), "extract.0.fields.f.json", "not a JMESPath"),
        (a_rule(json="[" * 3000), "extract.0.fields.f.json", "not a JMESPath"),
        (a_rule(css="a", regex="(?<=a)"), "extract.0.fields.f.regex", "not RE2 syntax"),
        (a_rule(), "extract.0.fields.f", "exactly one of css, xpath or json"),
        (a_rule(css="a", xpath="b"), "extract.0.fields.f", "exactly one of css, xpath or json"),
        ({"extract": [{"type": "t"}]}, "extract.0", "neither fields nor builtin"),
        ({"extract": [{"type": "t", "key": ["x"], "fields": {"f": {"css": "a"}}}]}, "extract.0", "none of its fields"),
        ({"extract": [{"type": "t", "builtin": "article"}] * 2}, "extract", "unique in a job"),
        ({"extract": [{"type": "t", "builtin": "article", "each": "a"}]}, "extract.0", "builtin"),
        ({"extract": [{"type": "t", "locale": "xx_YY", "fields": {"f": {"css": "a"}}}]}, "extract.0.locale", "de_DE"),
        ({"plugins": ["os"]}, "plugins.0", "package.module:function"),
        ({"schedule": {}}, "schedule", "exactly one of every, cron or fresh_by"),
        ({"schedule": {"cron": "* * *"}}, "schedule", "five fields"),
        ({"schedule": {"fresh_by": "25:00"}}, "schedule", "08:00"),
        ({"schedule": {"every": "1h", "timezone": "Mars/Base"}}, "schedule.timezone", "Europe/Berlin"),
        ({"webhooks": ["nowhere"]}, "webhooks.0.url", "not an http or https URL"),
        ({"webhooks": [{"url": "https://a.example/", "secret": "s3cret"}]}, "webhooks.0.secret", "${env:NAME}"),
        (
            {"webhooks": [{"url": "https://a.example/", "secret": "${env:ODRADEK_MONGODB_URL}"}]},
            "webhooks.0.secret",
            "belongs to Odradek",
        ),
    ],
)  # fmt: skip
def test_a_wrong_value_says_the_way_out(values: dict[str, Any], field: str, hint: str) -> None:
    (found,) = complaints(**values)
    assert found["field"] == field
    assert hint in found["message"]


@pytest.mark.parametrize(
    "css", ["&", "& > x", "a, b", "a[href*='::text']", ":-soup-contains('x')", "p:lexbor-contains('x')", ":has(> a)"]
)
def test_selectors_of_either_engine_are_taken(css: str) -> None:
    assert a_spec(**a_rule(css=css)).to_wire() == a_rule(css=css)


def test_no_rules_at_all_is_not_the_same_as_none_given() -> None:
    assert a_spec(extract=[]).to_wire() == {"extract": []}
    assert a_spec().extract is None


def test_every_wrong_field_is_reported_at_once() -> None:
    fields = [each["field"] for each in complaints(priority=-1, scop={}, scope={"max_depth": "deep"})]
    assert sorted(fields) == ["priority", "scop", "scope.max_depth"]


def test_a_person_reads_one_sentence() -> None:
    with pytest.raises(UserError) as caught:
        validated({"scop": {}, "priority": 101}, "The job file a.yaml")
    assert str(caught.value) == "The job file a.yaml is wrong at priority: must be less than or equal to 100 (1 more)."
    assert caught.value.exit_code == 2


def test_only_null_booleans_and_numbers_are_not_text() -> None:
    read = parse_yaml(
        "{a: 2030-01-31, b: 10:30, c: no, d: 1, e: 0.5, f: true, g: null, h: ~, i: 010, j: 1_0, k: .inf}", "x"
    )
    assert read == {
        "a": "2030-01-31", "b": "10:30", "c": "no", "d": 1, "e": 0.5, "f": True, "g": None, "h": None, "i": "010",
        "j": "1_0", "k": ".inf",
    }  # fmt: skip


def test_json_is_a_job_file_too_and_aliases_work() -> None:
    assert parse_yaml('{"a": [1, "x"], "b": {"c": null}}', "x") == {"a": [1, "x"], "b": {"c": None}}
    assert parse_yaml("a: &x {p: 1}\nb: *x\nc: {<<: *x, q: 2}", "x") == {
        "a": {"p": 1},
        "b": {"p": 1},
        "c": {"p": 1, "q": 2},
    }


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1", "not YAML in line"),
        ("a: 1\nb: *nowhere", "not YAML in line 2: found undefined alias"),
        ("a: 1\n\na: 2", "not YAML in line 3: 'a' is given twice"),
        ("a: !!python/object/apply:os.getcwd []", "not YAML in line 1: could not determine a constructor"),
        ("a: \x00", "not YAML: unacceptable character"),
        ("? [a]\n: 1", "not YAML"),
        ("- a", "must be a mapping"),
        ("", "must be a mapping"),
        (BOMB, "through its aliases"),
        ("a: &x {b: *x}", "contains itself"),
        ("a: " + "[" * 101 + "]" * 101, "deeper than 100 levels"),
        ("a: " + "[" * 100_000, "not YAML in line"),
        ("- " * 100_000, "not YAML in line"),
    ],
)
def test_a_bad_document_is_one_sentence_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_yaml(text, "The job file a.yaml")
    assert str(caught.value).startswith("The job file a.yaml ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_job_file_is_read_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: caf\xc3\xa9\n")
    assert load_job_file(path) == {"name": "café"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff\xfe\xff", "not UTF-8"),
        (b"#" * (4 << 20) + b"\n", "larger than 4 MiB"),
    ],
)
def test_a_job_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "job.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_job_file(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_secrets_are_blotted_out_and_references_stay() -> None:
    spec = a_spec(
        name="a",
        fetch={
            "auth": {"basic": "me:secret"},
            "cookies": {"sid": "secret", "other": "${env:SID}"},
            "headers": {"Authorization": "Bearer secret", "X-Api-Key": "Bearer ${env:KEY}", "Accept-Language": "de"},
            "proxies": ["http://me:secret@proxy.example:1", "socks5://proxy.example:1080"],
        },
    )
    assert redacted(spec.to_wire()) == {
        "name": "a",
        "fetch": {
            "auth": {"basic": "***"},
            "cookies": {"sid": "***", "other": "${env:SID}"},
            "headers": {"Authorization": "***", "X-Api-Key": "Bearer ${env:KEY}", "Accept-Language": "de"},
            "proxies": ["http://***@proxy.example:1", "socks5://proxy.example:1080"],
        },
    }
    assert redacted({"name": "a"}) == {"name": "a"}


def test_the_query_of_a_webhook_is_blotted_out() -> None:
    hooks = ["https://a.example/x?token=secret", {"url": "https://b.example/", "secret": "${env:HOOK}"}]
    assert redacted(a_spec(webhooks=hooks).to_wire()) == {
        "webhooks": [
            {"url": "https://a.example/x?***"},
            {"url": "https://b.example/", "secret": "${env:HOOK}"},
        ]
    }
