"""Functions on URLs, IP addresses and networks, as the CEL reference of Kubernetes describes them."""

from __future__ import annotations

import ipaddress
from urllib.parse import parse_qs, quote, urlsplit

from vcray.cel.functions import Function, member, plain

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _address(text: str) -> _Address:
    """An address as Go's netip takes it: no zone, no IPv4 within IPv6."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError as error:
        raise ValueError(f"IP Address {text!r} parse error during conversion from string: {error}") from error
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id:
            raise ValueError(f'IP address "{text}" with zone value is not allowed')
        if found.ipv4_mapped:
            raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return found


def _interface(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    if "/" not in text:
        raise ValueError(
            f"network address parse error during conversion from string: netip.ParsePrefix(\"{text}\"): no '/'"
        )
    try:
        return ipaddress.ip_interface(text)
    except ValueError as error:
        raise ValueError(f"network address parse error during conversion from string: {error}") from error


def _holds(text: str, test: str) -> bool:
    try:
        (_address if test == "ip" else _interface)(text)
    except ValueError:
        return False
    return True


def _is_global_unicast(text: str) -> bool:
    found = _address(text)
    broadcast = str(found) == "255.255.255.255"
    return not (
        found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local or broadcast
    )


def _is_link_local_multicast(text: str) -> bool:
    found = _address(text)
    if isinstance(found, ipaddress.IPv4Address):
        return found in ipaddress.IPv4Network("224.0.0.0/24")
    return found.is_multicast and found.packed[1] & 0x0F == 2


def _contains(network: str, other: str) -> bool:
    inside = _address(other)
    return inside.version == _interface(network).version and inside in _interface(network).network


def _contains_network(network: str, other: str) -> bool:
    outer, inner = _interface(network).network, _interface(other).network
    return (
        outer.version == inner.version
        and outer.prefixlen <= inner.prefixlen
        and inner.network_address in outer
    )


def _url(text: str) -> str:
    parts = urlsplit(text)
    if not (parts.scheme and (parts.netloc or text.startswith(f"{parts.scheme}://"))) and not text.startswith(
        "/"
    ):
        raise ValueError(
            f'URL parse error during conversion from string: parse "{text}": invalid URI for request'
        )
    return text


def _is_url(text: str) -> bool:
    try:
        _url(text)
    except ValueError:
        return False
    return True


def _port(text: str) -> str:
    port = urlsplit(text).port
    return "" if port is None else str(port)


def _host(text: str) -> str:
    return urlsplit(text).netloc.rpartition("@")[2]


FUNCTIONS: tuple[Function, ...] = (
    plain("ip", "string", "IP", lambda text: str(_address(text))),
    plain("isIP", "string", "bool", lambda text: _holds(text, "ip")),
    plain("ip.isCanonical", "string", "bool", lambda text: str(_address(text)) == text),
    plain("string", "IP", "string", None),
    member("family", "IP", "int", lambda text: _address(text).version),
    member("isUnspecified", "IP", "bool", lambda text: _address(text).is_unspecified),
    member("isLoopback", "IP", "bool", lambda text: _address(text).is_loopback),
    member("isLinkLocalMulticast", "IP", "bool", _is_link_local_multicast),
    member(
        "isLinkLocalUnicast",
        "IP",
        "bool",
        lambda text: _address(text).is_link_local and not _address(text).is_multicast,
    ),
    member("isGlobalUnicast", "IP", "bool", _is_global_unicast),
    plain("cidr", "string", "CIDR", lambda text: str(_interface(text))),
    plain("isCIDR", "string", "bool", lambda text: _holds(text, "cidr")),
    plain("string", "CIDR", "string", None),
    member("containsIP", "CIDR string", "bool", _contains),
    member("containsIP", "CIDR IP", "bool", _contains),
    member("containsCIDR", "CIDR string", "bool", _contains_network),
    member("containsCIDR", "CIDR CIDR", "bool", _contains_network),
    member("ip", "CIDR", "IP", lambda text: str(_interface(text).ip)),
    member("masked", "CIDR", "CIDR", lambda text: str(_interface(text).network)),
    member("prefixLength", "CIDR", "int", lambda text: _interface(text).network.prefixlen),
    plain("url", "string", "URL", _url),
    plain("isURL", "string", "bool", _is_url),
    member("getScheme", "URL", "string", lambda text: urlsplit(text).scheme),
    member("getHost", "URL", "string", _host),
    member("getHostname", "URL", "string", lambda text: urlsplit(text).hostname or ""),
    member("getPort", "URL", "string", _port),
    member(
        "getEscapedPath", "URL", "string", lambda text: quote(urlsplit(text).path, safe="/%:@!$&'()*+,;=~-._")
    ),
    member(
        "getQuery",
        "URL",
        "map<string,list<string>>",
        lambda text: parse_qs(urlsplit(text).query, keep_blank_values=True),
    ),
)
