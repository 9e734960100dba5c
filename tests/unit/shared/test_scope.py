"""Which URLs belong to a job."""

from typing import Any

import pytest

from odradek.contracts import RefusalReason
from odradek.scope import DENIED_EXTENSIONS, Scope, site_of
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify


def a_url(url: str) -> CrawlUrl:
    found = identify(url)
    assert isinstance(found, CrawlUrl), (url, found)
    return found


def a_scope(*seeds: str, **rules: Any) -> Scope:
    return Scope.of(JobSpecification.parse({"seeds": list(seeds), "scope": rules}))


def refusal(
    scope: Scope, url: str, *, depth: int = 1, site: str | None = None, seed: bool = False
) -> RefusalReason | None:
    return scope.refusal(a_url(url), depth=depth, site=site, seed=seed)


@pytest.mark.parametrize(
    ("seed", "site"),
    [
        ("https://books.co.uk/", "books.co.uk"),
        ("https://www.books.co.uk/a", "books.co.uk"),
        ("https://blog.books.co.uk/", "blog.books.co.uk"),
        ("https://www.blog.books.co.uk/", "www.blog.books.co.uk"),
        ("https://alice.github.io/", "alice.github.io"),
        ("http://127.0.0.1:8000/", "127.0.0.1"),
        ("http://[::1]/", "[::1]"),
        ("http://localhost:3000/", "localhost"),
    ],
)
def test_a_seed_opens_its_site(seed: str, site: str) -> None:
    assert site_of(a_url(seed)) == site
    assert a_scope().site(a_url(seed)) == site


def test_a_seed_carries_no_site_where_the_job_names_its_domains() -> None:
    assert a_scope(allowed_domains=["books.example"]).site(a_url("https://books.example/")) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://books.example/a", None),
        ("http://books.example:8080/a", None),
        ("https://shop.books.example/a", None),
        ("https://a.b.books.example/", None),
        ("https://notbooks.example/", "scope"),
        ("https://books.example.evil.example/", "scope"),
        ("https://example/", "scope"),
    ],
)
def test_a_named_domain_is_itself_and_its_subdomains_on_any_port(url: str, expected: str | None) -> None:
    assert refusal(a_scope(allowed_domains=["Books.example."]), url) == expected


def test_without_subdomains_a_host_is_that_host_alone() -> None:
    scope = a_scope(allowed_domains=["books.example"], subdomains=False)
    assert refusal(scope, "https://books.example/") is None
    assert refusal(scope, "https://www.books.example/") == "scope"


def test_without_subdomains_a_seed_opens_its_own_host() -> None:
    scope = a_scope("https://www.books.example/", subdomains=False)
    assert scope.site(a_url("https://www.books.example/")) == "www.books.example"
    assert refusal(scope, "https://www.books.example/a") is None
    assert refusal(scope, "https://books.example/a") == "scope"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://books.example:8080/", None),
        ("https://books.example:8080/", None),
        ("http://shop.books.example:8080/", None),
        ("http://books.example/", "scope"),
        ("http://books.example:80/", "scope"),
        ("http://[::1]:81/", None),
        ("http://[::1]/", "scope"),
        ("https://safe.example/", None),
        ("http://safe.example/", "scope"),
    ],
)
def test_a_port_restricts(url: str, expected: str | None) -> None:
    scope = a_scope(allowed_domains=["books.example:8080", "[::1]:81", "safe.example:443"])
    assert refusal(scope, url) == expected


def test_a_domain_may_be_given_in_any_script() -> None:
    assert refusal(a_scope(allowed_domains=["Bücher.example"]), "https://www.bücher.example/") is None


def test_an_address_has_no_subdomains() -> None:
    scope = a_scope(allowed_domains=["0.0.1", "10.0.0.1"])
    assert refusal(scope, "http://10.0.0.1/") is None
    assert refusal(a_scope(allowed_domains=["10.0.0.2"]), "http://10.0.0.1/") == "scope"


def test_an_empty_list_of_domains_allows_none() -> None:
    assert refusal(a_scope(allowed_domains=[]), "https://books.example/", seed=True) == "scope"


def test_a_link_is_judged_by_the_site_it_descends_from() -> None:
    scope = a_scope()
    assert refusal(scope, "https://shop.books.example/", site="books.example") is None
    assert refusal(scope, "https://other.example/", site="books.example") == "scope"
    assert refusal(scope, "https://other.example/", site="other.example") is None


def test_a_link_without_site_is_judged_by_the_seeds_of_the_specification() -> None:
    scope = a_scope("https://books.example/", "https://blog.other.example/")
    urls = ["https://www.books.example/", "https://blog.other.example/a", "https://other.example/"]
    assert [refusal(scope, url) for url in urls] == [None, None, "scope"]
    assert refusal(a_scope(), "https://books.example/") == "scope"


def test_a_redirect_target_of_a_seed_opens_its_own_site() -> None:
    scope = a_scope("https://books.example/")
    assert refusal(scope, "https://moved.example/", site="books.example", seed=True) is None
    assert refusal(scope, "https://moved.example/", site="books.example", seed=False) == "scope"


def test_a_seed_is_bound_by_the_named_domains_and_by_exclude() -> None:
    scope = a_scope(allowed_domains=["books.example"], exclude=["/private/"])
    assert refusal(scope, "https://other.example/", seed=True) == "scope"
    assert refusal(scope, "https://books.example/private/", seed=True) == "excluded"


def test_a_seed_is_exempt_from_depth_extension_and_include() -> None:
    scope = a_scope(allowed_domains=["books.example"], include=["/catalogue/"], max_depth=0)
    assert refusal(scope, "https://books.example/list.pdf", depth=3, seed=True) is None


def test_include_must_be_found_and_exclude_wins() -> None:
    scope = a_scope(allowed_domains=["books.example"], include=["/a/", r"\?p=\d+$"], exclude=["(?i)SECRET", "/a/b"])
    judged = {
        path: refusal(scope, "https://books.example" + path)
        for path in ("/a/", "/x?p=12", "/x?p=", "/a/secret", "/a/b/c", "/")
    }
    assert judged == {
        "/a/": None, "/x?p=12": None, "/x?p=": "excluded", "/a/secret": "excluded", "/a/b/c": "excluded",
        "/": "excluded",
    }  # fmt: skip


def test_patterns_see_the_url_that_is_fetched_not_the_key() -> None:
    scope = a_scope(allowed_domains=["books.example"], exclude=["utm_source"])
    assert refusal(scope, "https://books.example/?utm_source=x") == "excluded"


def test_depth_counts_up_to_the_limit_and_including_it() -> None:
    scope = a_scope(allowed_domains=["books.example"], max_depth=2)
    assert [refusal(scope, "https://books.example/", depth=depth) for depth in (0, 2, 3)] == [None, None, "depth"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a.pdf", "extension"), ("/a.PDF?x=1", "extension"), ("/a.tar.gz", "extension"), ("/a%2Epdf", "extension"),
        ("/a.html", None), ("/a.pdf/", None), ("/a?file=b.pdf", None), ("/pdf", None), ("/a.php", None),
        ("/v1.2", None),
    ],
)  # fmt: skip
def test_files_that_are_no_pages_are_refused_by_extension(path: str, expected: str | None) -> None:
    assert refusal(a_scope(allowed_domains=["books.example"]), "https://books.example" + path) == expected


def test_a_job_may_give_its_own_extensions_or_none() -> None:
    own = a_scope(allowed_domains=["books.example"], deny_extensions=[".HTML"])
    none = a_scope(allowed_domains=["books.example"], deny_extensions=[])
    judged = [refusal(scope, f"https://books.example/a.{end}") for scope in (own, none) for end in ("html", "pdf")]
    assert judged == ["extension", None, None, None]


def test_pages_feeds_and_data_are_never_denied_by_default() -> None:
    assert not DENIED_EXTENSIONS & {
        "html",
        "htm",
        "xhtml",
        "php",
        "asp",
        "aspx",
        "jsp",
        "xml",
        "json",
        "rss",
        "atom",
        "txt",
    }


def test_a_job_with_a_thousand_patterns_judges_as_with_one() -> None:
    scope = a_scope(allowed_domains=["books.example"], exclude=[f"/page-{n}$" for n in range(1000)])
    assert refusal(scope, "https://books.example/page-999") == "excluded"
    assert refusal(scope, "https://books.example/page-1000") is None


def test_the_answers_kept_for_hosts_are_bounded_and_stay_right() -> None:
    spec = JobSpecification.parse({"scope": {"allowed_domains": ["books.example"]}})
    scope = Scope(spec, hosts_remembered=10)
    hosts = [f"h{n}.{'books' if n % 2 else 'other'}.example" for n in range(50)] * 2
    assert [refusal(scope, f"http://{host}/") for host in hosts] == [None if n % 2 else "scope" for n in range(50)] * 2
    assert len(scope._hosts) <= 10
