"""Which addresses a crawler may connect to: the public Internet, and nothing else unless told (rule O)."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""RFC 6052 and RFC 8215: the last 32 bits are an IPv4 address."""
_COMPATIBLE = IPv6Network("::/96")


def address_refusal(address: str) -> bool:
    """True when an address must not be connected to: it is not globally reachable, or hides one that is not.

    Loopback, private, link-local, carrier-grade NAT, multicast, reserved, documentation and unspecified ranges, and
    IPv6 forms (mapped, compatible, NAT64, 6to4, Teredo) of such IPv4 addresses. An address that does not parse is
    refused.
    """
    try:
        parsed = ip_address(address.strip("[]").split("%", 1)[0])
    except ValueError:
        return True
    return _refused(parsed)


def host_refusal(host: str) -> bool:
    """True when a host name alone shows that it is private: `localhost`, or a refused address written as host."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        parsed = ip_address(name.strip("[]"))
    except ValueError:
        return False
    return _refused(parsed)


def _refused(address: IPv4Address | IPv6Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return not _is_public_translation(address)
    return any(_refused(inner) for inner in _embedded(address))


def _is_public_translation(address: IPv4Address | IPv6Address) -> bool:
    """NAT64 or the mapped form of a public address is public although its own range is not called global."""
    if not isinstance(address, IPv6Address):
        return False
    if address.ipv4_mapped is None and not any(address in network for network in _NAT64):
        return False
    return not _refused(IPv4Address(int(address) & 0xFFFFFFFF))


def _embedded(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in (*_NAT64, _COMPATIBLE)):
        inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [each for each in inner if each is not None]
