"""Which addresses a crawler may connect to: the public Internet, and nothing else unless told (rule O).

The lists follow the IANA special-purpose address registries (RFC 6890); they are kept here because what the standard
library calls global differs between versions of Python.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import ada_url

_CLOSED_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's host agent: keys for whoever asks from a virtual machine
            "169.254.0.0/16",  # link-local, and the metadata services of clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # retired 6to4 relays
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_UNICAST = IPv6Network("2000::/3")
"""All that is globally routed in IPv6; unique local, link-local, loopback and multicast lie outside."""
_CLOSED_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, among them Teredo
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "3fff::/20",  # documentation
        ),
    )
)
_TRANSLATED = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""Mapped addresses, and NAT64's well-known prefix (RFC 6052): the last 32 bits are an IPv4 address."""


def address_refusal(address: str | IPv4Address | IPv6Address) -> bool:
    """True when an address must not be connected to: it is not globally reachable, or hides one that is not.

    IPv4-mapped and NAT64 (64:ff9b::/96) addresses are judged by the IPv4 address inside. Other forms that embed one
    (compatible, local NAT64 64:ff9b:1::/48, 6to4, Teredo) are refused whatever it is: no public site answers there.
    An address that does not parse is refused.
    """
    if isinstance(address, str):
        try:
            address = ip_address(address.strip("[]").partition("%")[0])
        except ValueError:
            return True
    if isinstance(address, IPv4Address):
        return any(address in network for network in _CLOSED_V4)
    if any(address in network for network in _TRANSLATED):
        return address_refusal(IPv4Address(int(address) & 0xFFFFFFFF))
    return address not in _UNICAST or any(address in network for network in _CLOSED_V6)


def host_refusal(host: str) -> bool:
    """True when a host's spelling alone shows that it is private: `localhost`, or a refused address.

    Any spelling a browser takes for an address counts: decimal, octal, hexadecimal, shortened, IPv6 with or without
    brackets. A name that only resolves to such an address is found when it is connected to.
    """
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    try:
        name = str(ada_url.URL(f"http://{host}/").hostname).removesuffix(".")
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name.strip("[]"))
    except ValueError:
        return False
    return address_refusal(address)
