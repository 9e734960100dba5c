"""Which addresses a crawler may connect to."""

from ipaddress import ip_address

import pytest

from odradek.addresses import address_refusal, host_refusal

CLOSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1",
    "198.18.0.1", "198.19.255.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1", "64:ff9b::10.1.2.3", "64:ff9b:1::8.8.8.8", "64:ff9b:1:7f00:0:100::", "100::1",
    "2001::1", "2001:0:7f00:1::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:a00:1::1",
    "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "[fe80::1]", "fec0::1",
    "ff02::1", "ff0e::1",
]  # fmt: skip
OPEN = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
    "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
    "223.255.255.255", "2606:4700:4700::1111", "2a00:1450:4001:80e::200e", "2001:4860:4860::8888", "[2606:4700::1]",
    "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
]  # fmt: skip


@pytest.mark.parametrize("address", CLOSED)
def test_what_is_not_globally_reachable_is_closed(address: str) -> None:
    assert address_refusal(address)


@pytest.mark.parametrize("address", OPEN)
def test_the_public_internet_is_open(address: str) -> None:
    assert not address_refusal(address)


def test_addresses_are_taken_as_values_too() -> None:
    assert address_refusal(ip_address("::1"))
    assert not address_refusal(ip_address("8.8.8.8"))


@pytest.mark.parametrize("text", ["", "localhost", "0x7f.1", "127.1", "010.0.0.1", "1.2.3.4.5", "8.8.8.8:80"])
def test_what_does_not_parse_is_closed(text: str) -> None:
    assert address_refusal(text)


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1", "127.1", "127.0.0.1.", "2130706433",
        "017700000001", "0x7f000001", "0x7f.0.0.1", "0177.1", "0", "::1", "[::1]", "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]", "[64:ff9b::a00:1]", "169.254.169.254", "0xa9fea9fe", "①②⑦.0.0.1", "%31%32%37.0.0.1",
    ],
)  # fmt: skip
def test_a_private_host_is_seen_in_every_spelling(host: str) -> None:
    assert host_refusal(host)


@pytest.mark.parametrize(
    "host", ["books.example", "localhost.example", "notlocalhost", "8.8.8.8", "134744072", "[2606:4700::1]", ""]
)
def test_other_hosts_are_left_to_the_guard_of_the_connection(host: str) -> None:
    assert not host_refusal(host)
