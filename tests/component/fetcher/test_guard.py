"""Private networks are closed (rule O): for every spelling, hop, proxy and trick of a resolver."""

import pytest
from tests.component.fetcher.harness import FIRST_TRY, LATER_TRY, a_fetching

from odradek.addresses import address_refusal
from odradek.testing import hostile_cases  # noqa: F401  (fills the site)
from odradek.testing.hostile import HostileSite, Talk


class Zone:
    """A resolver with behaviour: each name has a list of answers, given one after another, the last for ever."""

    def __init__(self, **answers: list[str]) -> None:
        self.answers = {name.replace("_", "."): given for name, given in answers.items()}
        self.asked = 0

    async def __call__(self, host: str) -> tuple[str, ...]:
        self.asked += 1
        given = self.answers[host]
        return tuple((given.pop(0) if len(given) > 1 else given[0]).split())


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "localhost", "[::1]", "0.0.0.0",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]", "[fe80::1]", "[fd00::1]", "169.254.169.254", "[::ffff:a9fe:a9fe]", "10.0.0.1", "192.168.1.1",
        "172.16.0.1", "100.64.0.1", "168.63.129.16", "①②⑦.0.0.1",
    ],
)  # fmt: skip
async def test_no_spelling_of_a_private_address_is_connected_to(host: str, attempt: int) -> None:
    async with HostileSite() as site, a_fetching(refuses=address_refusal) as fetch:
        result = await fetch(f"http://{host}:{site.port}/empty", attempt=attempt)
    assert (result.page.outcome, result.page.reason, result.page.retry_in_ms) == ("failed", "private_address", None)
    assert site.seen == {}


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
async def test_a_resolver_that_changes_its_answer_gains_nothing(attempt: int) -> None:
    zone = Zone(rebind_example=["192.0.2.1", "127.0.0.1"])
    public = {"192.0.2.1"}
    async with (
        HostileSite() as site,
        a_fetching(zone, refuses=lambda address: address not in public, ttl_s=0.0) as fetch,
    ):
        for _ in range(3):
            result = await fetch(f"http://rebind.example:{site.port}/empty", attempt=attempt)
            assert result.page.outcome == "failed"
    assert result.page.reason == "private_address"
    assert site.seen == {}


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
async def test_one_private_address_among_public_ones_is_enough(attempt: int) -> None:
    zone = Zone(mixed_example=["93.184.216.34 127.0.0.1"])
    async with HostileSite() as site, a_fetching(zone, refuses=address_refusal) as fetch:
        result = await fetch(f"http://mixed.example:{site.port}/empty", attempt=attempt)
    assert (result.page.reason, dict(site.seen)) == ("private_address", {})


@pytest.mark.parametrize("attempt", [FIRST_TRY, LATER_TRY])
async def test_a_name_is_looked_up_once_for_many_fetches(attempt: int) -> None:
    zone = Zone(site_example=["127.0.0.1"])
    async with HostileSite() as site, a_fetching(zone) as fetch:
        results = [await fetch(f"http://site.example:{site.port}/no-length", attempt=attempt) for _ in range(5)]
    assert [result.page.outcome for result in results] == ["fetched"] * 5
    assert [result.page.remote_address for result in results] == ["127.0.0.1"] * 5
    assert zone.asked == 1


async def test_a_redirect_followed_on_the_spot_is_guarded_like_any_fetch() -> None:
    zone = Zone(public_example=["127.0.0.1"], inside_example=["127.0.0.2"])
    async with HostileSite() as site, a_fetching(zone, refuses=lambda address: address == "127.0.0.2") as fetch:
        result = await fetch(f"http://public.example:{site.port}/to-inside", kind="robots")
    assert result.robots is not None
    assert (result.robots.reason, result.robots.text) == ("private_address", None)
    assert dict(site.seen) == {"to-inside": 1}


@pytest.mark.parametrize("host", ["127.0.0.1", "other.example"])
async def test_secrets_do_not_go_along_to_another_port_or_host(host: str) -> None:
    async def page(talk: Talk) -> None:
        await talk.page()

    async with HostileSite({"page": page}) as other, a_fetching(Zone(other_example=["127.0.0.1"])) as fetch:

        async def robots(talk: Talk) -> None:
            moved = f"Location: http://{host}:{other.port}/page"
            await talk.page(moved.encode(), b"Set-Cookie: b=2", status=b"302 Found")

        async with HostileSite({"robots.txt": robots}) as site:
            secrets = {"auth": {"bearer": "s3cret"}, "headers": {"X-Key": "s3cret"}, "cookies": {"a": "s3cret"}}
            await fetch(site.url("robots.txt"), secrets, kind="robots")
    assert site.heads[0].count(b"s3cret") == 3
    assert len(other.heads) == 1
    assert b"s3cret" not in other.heads[0]
    assert b"cookie" not in other.heads[0].lower()


@pytest.mark.parametrize("proxy", ["http", "socks5"])
async def test_what_a_proxy_is_asked_for_is_checked_before_it_is_asked(proxy: str) -> None:
    async with HostileSite() as site, a_fetching(refuses=lambda a: a == "127.0.0.9") as fetch:
        result = await fetch("http://127.0.0.9/", {"proxies": [f"{proxy}://127.0.0.1:{site.port}"]})
    assert (result.page.reason, dict(site.seen)) == ("private_address", {})


@pytest.mark.parametrize("proxy", ["http", "socks5"])
async def test_a_proxy_in_a_private_network_is_not_connected_to(proxy: str) -> None:
    zone = Zone(site_example=["93.184.216.34"])
    async with HostileSite() as site, a_fetching(zone, refuses=address_refusal) as fetch:
        result = await fetch("http://site.example/", {"proxies": [f"{proxy}://127.0.0.1:{site.port}"]})
    assert (result.page.reason, dict(site.seen)) == ("private_address", {})
