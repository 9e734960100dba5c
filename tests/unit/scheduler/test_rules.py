"""robots.txt by RFC 9309, case by case: which group, which rule, what is no rule.

Where what decides goes beyond the standard or stays behind it, the case says so.
"""

import pytest

from odradek.contracts import Parsed
from odradek_scheduler.core.robots import deciding_line
from odradek_scheduler.core.rules import MOST_BYTES, Rules, product_tokens

from .harness import Crawl, a_job, a_link

AGENTS = ("odradek",)

GROUPS = """
User-agent: FooBot
Disallow: /foo

User-agent: *
Disallow: /all

User-agent: bar-bot
User-agent: baz_bot
Disallow: /both

user-agent: foobot
disallow: /more
"""


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        ("foobot", "/foo", False),
        ("FOOBOT", "/foo", False),
        ("FooBot/2.1 (+https://foobot.example/about)", "/foo", False),
        ("Mozilla/5.0 (compatible; FooBot/2.1; +https://foo.example/)", "/foo", False),
        ("foobot", "/more", False),
        ("foobot", "/all", True),
        ("foo", "/foo", True),
        ("foo", "/all", False),
        ("foobot-news", "/foo", True),
        ("foobot-news", "/all", False),
        ("myfoobot", "/foo", True),
        ("bar-bot", "/both", False),
        ("baz_bot", "/both", False),
        ("baz_bot", "/foo", True),
        ("other", "/all", False),
        ("other", "/both", True),
    ],
)
def test_all_groups_of_the_agent_apply_and_only_without_one_the_group_for_all(
    agent: str,
    path: str,
    allowed: bool,  # noqa: FBT001  (a case of the table)
) -> None:
    assert Rules(GROUPS).allows(f"https://a.example{path}", (agent,)) is allowed


def test_of_several_agents_every_one_must_be_allowed() -> None:
    agents = ("foobot", "bar-bot")
    assert [Rules(GROUPS).allows(f"https://a.example{path}", agents) for path in ("/foo", "/both", "/all")] == [
        False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/fish", "/fish", True),
        ("/fish", "/fish.html", True),
        ("/fish", "/fishheads/yummy", True),
        ("/fish", "/Fish", False),
        ("/fish", "/catfish", False),
        ("/fish/", "/fish", False),
        ("/fish/", "/fish/?id=1", True),
        ("/fish*", "/fishheads", True),
        ("/*.php", "/a/index.php?x=1", True),
        ("/*.php", "/index.PHP", False),
        ("/*.php$", "/index.php", True),
        ("/*.php$", "/index.php?x", False),
        ("/*.php$", "/index.php/", False),
        ("/fish*.php", "/fishheads/cat.php?p", True),
        ("/a**b", "/axxb", True),
        ("*/end$", "/x/end", True),
        ("/$", "/", True),
        ("/$", "/x", False),
        ("/x?q=", "/x?q=1", True),
        ("/x?q=", "/x", False),
        ("/", "/anything", True),
        ("/caf\u00e9", "/caf%C3%A9", True),
        ("/caf%c3%a9", "/caf%C3%A9", True),
        ("/a%3cd", "/a%3Cd", True),
        ("/a%2fb", "/a/b", False),
        ("/a%7Eb", "/a~b", True),
        ("/foo/%62ar", "/foo/bar", True),
        ("", "/x", False),
    ],
)
def test_a_path_pattern_matches_from_the_beginning_with_wildcards(
    pattern: str,
    path: str,
    matches: bool,  # noqa: FBT001  (a case of the table)
) -> None:
    rules = Rules(f"User-agent: *\nDisallow: {pattern}\n")
    assert rules.allows(f"https://a.example{path}", ("x",)) is not matches


@pytest.mark.parametrize(
    ("lines", "path", "allowed"),
    [
        ("Allow: /p\nDisallow: /", "/page", True),
        ("Disallow: /\nAllow: /p", "/page", True),
        ("Allow: /folder\nDisallow: /folder", "/folder/page", True),
        ("Disallow: /folder\nAllow: /folder", "/folder/page", True),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /page\nDisallow: /*.ph", "/page.php5", True),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        ("Disallow: /a/b/\nAllow: /a/", "/a/b/c", False),
        ("Allow:\nDisallow:", "/x", True),
        ("Disallow: /robots.txt", "/robots.txt", True),
    ],
)
def test_the_longest_rule_wins_and_allow_wins_a_tie(
    lines: str,
    path: str,
    allowed: bool,  # noqa: FBT001  (a case of the table)
) -> None:
    assert Rules(f"User-agent: *\n{lines}\n").allows(f"https://a.example{path}", ("x",)) is allowed


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: x\nDisallow: /no\n",
        "\ufeffUser-agent: x\nDisallow: /no\n",
        "User-agent: x\r\nDisallow: /no\r\n",
        "User-agent: x\rDisallow: /no\r",
        "User-agent: x # us\n# none\nDisallow: /no # never\n",
        "  USER-AGENT :  x \n\tdisallow:/no  ",
        "User-agent: x\n\n\nDisallow: /no",
        "User-agent: x/1.0\nDisallow: /no",
        "User-agent: x extra words\nDisallow: /no",
        "User-agent: y\nNoindex: /z\nUser-agent: x\nDisallow: /no",
        "Sitemap: https://a.example/s.xml\nUser-agent: x\nSitemap: https://a.example/t.xml\nDisallow: /no",
        "Disallow: /early\nUser-agent: x\nDisallow: /no",
        "<html>\nnonsense\n: :\nUser-agent: x\nDisallow: /no\n\x00\x01",
        "User-agent: x\nDisallow: /no\nUnknown: /\nCrawl-delay: soon",
    ],
)
def test_however_lines_are_written_the_same_is_meant(text: str) -> None:
    rules = Rules(text)
    assert [rules.allows(f"https://a.example{path}", ("x",)) for path in ("/no", "/yes", "/early")] == [
        False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "   ", "<!doctype html><title>Not found</title><p>Disallow: /", "\x00" * 100, "a" * 5000]
)
def test_what_is_no_robots_file_forbids_nothing(text: str) -> None:
    assert Rules(text).allows("https://a.example/x", ("x",))


def test_what_lies_beyond_500_kib_is_not_read() -> None:
    filler = "# " + "x" * 97 + "\n"
    inside = filler * (MOST_BYTES // 100 - 1) + "User-agent: *\nDisallow: /in\n"
    beyond = filler * (MOST_BYTES // 100 + 1) + "User-agent: *\nDisallow: /in\n"
    assert [Rules(text).allows("https://a.example/in", ("x",)) for text in (inside, beyond)] == [False, True]


@pytest.mark.parametrize(
    ("value", "delay_s"), [("5", 5.0), ("0.5", 0.5), ("-1", 0.0), ("soon", 0.0), ("1e400", 0.0), ("", 0.0)]
)
def test_a_crawl_delay_is_a_number_or_nothing(value: str, delay_s: float) -> None:
    text = f"User-agent: *\nCrawl-delay: {value}\n\nUser-agent: yy\nCrawl-delay: 9\nDisallow: /no\n"
    assert Rules(text).crawl_delay_s(("x",)) == delay_s
    assert Rules(text).crawl_delay_s(("x", "yy")) == 9.0


def test_sitemaps_stand_in_no_group() -> None:
    text = "Sitemap: https://a.example/1\nUser-agent: y\nDisallow: /\nsitemap:https://a.example/2\n"
    assert Rules(text).sitemaps == ("https://a.example/1", "https://a.example/2")


def test_beyond_the_standard_an_allowed_index_page_allows_its_folder_and_misspelt_rules_forbid() -> None:
    """As the large search engines read it; said in docs/frontier.md."""
    assert Rules("User-agent: *\nDisallow: /\nAllow: /a/index.html").allows("https://a.example/a/", ("x",))
    assert not Rules("User-agent: *\nDissallow: /no").allows("https://a.example/no", ("x",))


def test_a_group_of_nothing_but_a_crawl_delay_ends_there() -> None:
    """The standard would let both names share the rule below; sites that write this mean two groups."""
    text = "User-agent: x\nCrawl-delay: 5\nUser-agent: y\nDisallow: /no\n"
    assert [Rules(text).allows("https://a.example/no", (agent,)) for agent in "xy"] == [True, False]


@pytest.mark.parametrize(
    ("header", "tokens"),
    [
        ("odradek", {"odradek"}),
        ("odradek/1.0 (+https://bot.example/)", {"odradek"}),
        ("Mozilla/5.0", {"mozilla"}),
        ("Mozilla/5.0 (compatible; Foo-Bot/1.0; +http://foo.example/bot)", {"foo-bot"}),
    ],
)
def test_the_product_token_names_an_agent(header: str, tokens: set[str]) -> None:
    assert product_tokens(header) == tokens


WILD = "User-agent: *\nDisallow: /*no\n" + "\n".join(f"Disallow: /*a{n}$" for n in range(10_000))


def test_a_rule_under_thousands_of_names_is_kept_once_for_whom_it_is_asked() -> None:
    """250 KiB of names before 250 KiB of rules: 300 million rules if each name had its own."""
    names = "\n".join(f"User-agent: n{n}" for n in range(15_000))
    rules = Rules(names + "\nUser-agent: odradek\n" + "Disallow: /x\n" * 15_000)
    assert (rules.allows("https://a.example/x", AGENTS), rules.allows("https://a.example/y", AGENTS)) == (False, True)
    assert rules.allows("https://a.example/x", ("another",))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("User-agent: *\nDisallow: /a\nDisallow: /a/*/c", "Disallow: /a/*/c (line 3)"),
        ("User-agent: *\nDisallow: /a/b/c\nUser-agent: odradek\nDisallow: /a", "Disallow: /a (line 4)"),
        (
            "User-agent: other\nDisallow: /a/b/c\nUser-agent: *\nDisallow: /*b$\nDisallow: /*c$",
            "Disallow: /*c$ (line 5)",
        ),
        ("User-agent: x\nUser-agent: odradek\nDisallow: /a\nUser-agent: y\nDisallow: /a/b", "Disallow: /a (line 3)"),
    ],
)
def test_the_line_told_is_the_longest_of_the_group_that_applies(lines: str, told: str) -> None:
    assert deciding_line(lines, "https://a.example/a/b/c", AGENTS) == told


def test_one_call_of_dispatch_stays_short_whatever_a_robots_txt_says() -> None:
    """500 KiB of wildcards take a tenth of a second for each URL, so a call looks at few of them."""
    crawl = Crawl()
    crawl.fold(a_job(politeness={"respect_robots": True}), *(a_link(f"no{n}") for n in range(40)))
    crawl.robots(WILD)
    skips = [sum(isinstance(fact, Parsed) for _, fact in crawl.core.dispatch(crawl.now_ms, 100).facts)]
    assert 0 < skips[0] < 40
    crawl.robots("User-agent: *\nDisallow: /\n")
    crawl.after(s=60).dispatch()
    assert crawl.ledger().pending == 0
