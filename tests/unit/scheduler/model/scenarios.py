"""What is crawled in the model: small graphs, each for one kind of trouble, and three for all of them."""

from dataclasses import replace

from .world import Scenario

_LINKS = Scenario(
    part={"a": 0, "b": 1, "c": 0, "d": 0},
    seeds=("a",),
    graph={"a": ("b", "c"), "b": ("a", "d"), "d": ("c",)},
)
_FOUR = Scenario(part={"a": 0, "b": 0, "c": 1, "d": 1}, seeds=("a", "b", "c", "d"), max_pages=2, steps=200)
_SIX = Scenario(
    part={"a": 0, "b": 1, "c": 0, "d": 0, "e": 1, "f": 1},
    seeds=("a",),
    graph={"a": ("b", "c"), "b": ("a", "d", "e"), "d": ("c", "f")},
    crashes=6,
    steps=200,
)
_ZOMBIE = Scenario(part={"a": 0, "b": 0}, seeds=("a",), graph={"a": ("b",)}, partitions=1, zombie=True, crashes=5)
_MAPPED = Scenario(
    part={"a": 0, "b": 1, "c": 0, "d": 0, "S": 1, "T": 0},
    seeds=("a",),
    graph={"S": ("b", "c"), "T": ("d", "a")},
    robots={
        "h0.example": "Sitemap: https://h1.example/S\nSitemap: https://h0.example/T\n",
        "h1.example": "User-agent: *\nDisallow:\n",
    },
    sitemaps=("S", "T"),
    steps=200,
)
_PATTERN = Scenario(
    part={"a": 0, "b": 0, "c": 0, "d": 0, "e": 0, "f": 1},
    seeds=("a",),
    graph={"a": ("b", "c", "d", "f"), "b": ("e",)},
    pattern=True,
    controls=("release",),
    concurrency=1,
    steps=200,
)
_RULES = "User-agent: *\nDisallow: /c\n"

SCENARIOS: dict[str, Scenario] = {
    "links": _LINKS,
    "one": Scenario(part={"a": 0}, seeds=("a", "a"), partitions=1, steps=60),
    "small": Scenario(part={"a": 0, "b": 1}, seeds=("a",), graph={"a": ("b",)}, steps=80),
    "retry": replace(_LINKS, kind={"b": "flaky", "c": "failonce"}, controls=("retry_failed",)),
    "retry2": Scenario(
        part={"a": 0}, seeds=("a",), kind={"a": "failonce"}, partitions=1, controls=("retry_failed",), steps=100
    ),
    "noise": replace(_LINKS, noise=True, kind={"b": "flaky"}),
    "merge": Scenario(
        part=dict.fromkeys("abcd", 0), seeds=("a", "b", "c", "d"), partitions=1, controls=("merge", "merge")
    ),
    "depth": replace(_SIX, depth_first=True, controls=("merge", "merge"), concurrency=1),
    "poison": replace(_LINKS, kind={"b": "poison"}),
    "contra": replace(_LINKS, kind={"b": "contra", "d": "contra"}),
    "cancel": replace(_LINKS, controls=("cancel",)),
    "pause": replace(_LINKS, controls=("pause", "resume"), kind={"b": "flaky"}),
    "lose": replace(_LINKS, lose_requests=True),
    "grow": replace(_LINKS, grow={"a": ("d",), "b": ("c",), "d": ("a",)}),
    "grow2": Scenario(part={"a": 0, "b": 1}, seeds=("a",), grow={"a": ("b",)}, steps=100),
    "polite": replace(_SIX, delay_s=1.0, concurrency=1, lose_requests=True, kind={"e": "flaky"}),
    "polite2": replace(_SIX, delay_s=1.0, concurrency=2, kind={"e": "flaky"}),
    "polite3": replace(_SIX, delay_s=1.0, concurrency=1, controls=("pause", "resume"), steps=250),
    "robots": replace(_LINKS, delay_s=0.5, concurrency=1, robots={"h0.example": _RULES, "h1.example": None}),
    "sitemap": _MAPPED,
    "sitemap_lose": replace(_MAPPED, lose_requests=True, kind={"S": "flaky"}, delay_s=0.5, concurrency=1, steps=250),
    "sitemap_budget": replace(_MAPPED, max_pages=2),
    "sitemap_cancel": replace(_MAPPED, controls=("cancel",)),
    "pattern": _PATTERN,
    "pattern_all": replace(
        _PATTERN,
        crashes=6,
        steps=250,
        kind={"c": "flaky", "e": "failonce"},
        controls=("release", "retry_failed", "merge"),
    ),
    "per_host": replace(_SIX, max_pages_per_host=1, kind={"a": "flaky"}),
    "both_limits": replace(_FOUR, max_pages_per_host=1, kind={"a": "flaky"}, lose_requests=True),
    "budget": _FOUR,
    "budget1": Scenario(part={"a": 0, "b": 0}, seeds=("a", "b"), max_pages=1, partitions=1, steps=120),
    "budget3": Scenario(
        part=dict.fromkeys("abc", 0), seeds=("a", "b", "c"), kind={"a": "fail"}, max_pages=2, partitions=1, steps=140
    ),
    "budgets": Scenario(part={"a": 0, "b": 1}, seeds=("a", "b"), kind={"a": "fail"}, max_pages=1, steps=140),
    "budgetf": replace(_FOUR, kind={"a": "fail", "c": "fail"}),
    "budgetlink": replace(_LINKS, max_pages=3, steps=200),
    "budgetlose": replace(_FOUR, lose_requests=True, kind={"b": "flaky"}, concurrency=1),
    "raise": replace(_FOUR, max_pages=1, limits=(3,), controls=("limit",), steps=250),
    "raise2": replace(_LINKS, max_pages=1, limits=(2, 4), controls=("limit", "limit"), lose_requests=True, steps=250),
    "unlimit": replace(_FOUR, max_pages=1, limits=(None,), controls=("limit",), lose_requests=True, steps=250),
    "lower": replace(_FOUR, max_pages=4, limits=(1, 3), controls=("limit", "limit"), steps=250),
    "lowest": replace(_FOUR, max_pages=3, limits=(1,), controls=("limit",), kind={"a": "fail"}, steps=200),
    "late_limit": Scenario(
        part=dict.fromkeys("abc", 0) | dict.fromkeys("def", 1),
        seeds=tuple("abcdef"),
        limits=(4,),
        controls=("limit",),
        concurrency=1,
        steps=250,
    ),
    "late_limit_links": replace(
        _SIX, limits=(4,), controls=("limit",), kind={"e": "flaky"}, concurrency=2, lose_requests=True, steps=250
    ),
    "late_limits": replace(
        _FOUR, max_pages=None, limits=(1, 3), controls=("limit", "limit"), kind={"b": "flaky"}, steps=250
    ),
    "late_lower": replace(_SIX, limits=(5, 2), controls=("limit", "limit"), steps=250),
    "limit_again": replace(
        _SIX, max_pages=1, limits=(None, 3), controls=("limit", "limit"), kind={"c": "fail", "e": "flaky"}, steps=300
    ),
    "late_host_limit": replace(_SIX, max_pages_per_host=2, limits=(3,), controls=("limit",), steps=250),
    "expire": replace(_LINKS, expires_s=30.0, kind={"b": "flaky"}),
    "expirebudget": replace(_FOUR, expires_s=20.0, delay_s=1.0, concurrency=1),
    "zombie": _ZOMBIE,
    "zombie2": replace(
        _ZOMBIE,
        part=dict.fromkeys("abc", 0),
        graph={"a": ("b", "c")},
        kind={"c": "failonce"},
        controls=("retry_failed", "merge"),
    ),
    "dupbatch": Scenario(
        part={"a": 0, "b": 1, "c": 0},
        seeds=("a", "a", "c"),
        graph={"a": ("b",), "c": ("b",)},
        batch_seeds=True,
        steps=100,
    ),
    "runs": replace(_LINKS, controls=("run",), steps=200),
    "runs_small": Scenario(
        part={"a": 0, "b": 1}, seeds=("a",), graph={"a": ("b",)}, controls=("run", "run"), crashes=5, steps=200
    ),
    "runs_retry": replace(_LINKS, kind={"b": "flaky", "c": "fail"}, controls=("run", "retry_failed", "run"), steps=300),
    "runs_lose": replace(_LINKS, lose_requests=True, controls=("run", "merge"), crashes=5, steps=250),
    "runs_seed": replace(
        _LINKS, part=_LINKS.part | {"e": 1, "f": 0}, later=("e", "f"), controls=("run", "seed"), steps=300
    ),
    "runs_budget": replace(_FOUR, controls=("run",), steps=300),
    "runs_round": replace(_FOUR, max_pages=1, controls=("run", "run", "run"), steps=400),
    "runs_lower": replace(_FOUR, max_pages=4, limits=(1,), controls=("limit", "run"), steps=300),
    "runs_per_host": replace(_SIX, max_pages_per_host=1, controls=("run", "run"), crashes=5, steps=350),
    "runs_cancel": replace(_LINKS, controls=("run", "cancel"), steps=200),
    "runs_sitemap": replace(_MAPPED, controls=("run",), steps=300),
    "runs_all": replace(
        _SIX,
        kind={"c": "failonce", "e": "flaky"},
        lose_requests=True,
        controls=("merge", "run", "retry_failed", "run"),
        steps=400,
    ),
    "all": replace(
        _SIX,
        graph={"a": ("b", "c"), "b": ("a", "d", "e"), "d": ("c", "f"), "e": ("a",)},
        seeds=("a", "a"),
        batch_seeds=True,
        kind={"c": "failonce", "f": "poison", "e": "flaky"},
        grow={"a": ("d",), "b": ("f",)},
        controls=("merge", "retry_failed", "merge"),
    ),
    "allbudget": replace(_SIX, kind={"c": "fail", "e": "flaky"}, controls=("merge",), max_pages=3, steps=250),
    "allcancel": replace(_SIX, kind={"c": "fail", "e": "flaky"}, controls=("retry_failed", "cancel")),
}
