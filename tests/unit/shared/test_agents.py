"""Under which names sites may speak to a crawler."""

import pytest

from odradek.agents import product_token, product_tokens
from odradek.specification import JobSpecification


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("odradek/1.0 (+https://crawler.example)", "odradek"),
        ("Odradek", "odradek"),
        ("  my-bot/2 ", "my-bot"),
        ("Mozilla/5.0 (compatible; ShopBot/2.1; +https://shop.example/bot)", "shopbot"),
        ("Mozilla/5.0 (X11; Linux x86_64)", "mozilla"),
        ("", ""),
        ("(nothing)", ""),
    ],
)
def test_the_product_token_of_an_agent(agent: str, token: str) -> None:
    assert product_token(agent) == token


def test_a_job_is_spoken_to_by_all_names_it_goes_under() -> None:
    spec = JobSpecification.parse({"fetch": {"user_agent": "One/1", "user_agents": ["Two/2 x", "Three"]}})
    assert product_tokens(spec, "odradek/1.0") == {"odradek", "one", "two", "three"}
    assert product_tokens(JobSpecification(), "odradek") == {"odradek"}
