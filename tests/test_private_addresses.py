"""Which addresses are private, however they are spelled."""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.resolvers import PUBLIC
from tplspider.old.crawl.private_network.private_addresses import (
    host_name,
    is_private,
    literal_address,
)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0X7F.0x0.0.0x1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0000000000000000177.0.0.1", "127.0.0.1"),
        ("\N{FULLWIDTH DIGIT ONE}27.0.0.1", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("%31%32%37.0.0.1", "127.0.0.1"),
        ("10.65535", "10.0.255.255"),
        ("0", "0.0.0.0"),
        ("4294967295", "255.255.255.255"),
        ("93.184.216.34", "93.184.216.34"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0]", "fe80::1"),
        ("[::FFFF:127.0.0.1]", "::ffff:127.0.0.1"),
    ],
)
def test_spellings_of_an_address(host: str, address: str) -> None:
    assert literal_address(host) == ip_address(address)
    assert host_name(host) == str(ip_address(address))


@pytest.mark.parametrize(
    "host",
    [
        *["", ".", "..", "example.com", "localhost", "1.2.3.4.5", "1.2.3.4.example", "127..1"],
        *["256.1.1.1", "1.2.3.256", "1.16777216", "4294967296", "08.0.0.1", "0x7g.1", "1e1", "-1"],
        *["9" * 5000, "::1::", "a:b", "1.2.3.4:80", "[", "xn--"],
    ],
)
def test_names_are_no_addresses(host: str) -> None:
    assert literal_address(host) is None
    assert isinstance(host_name(host), str)


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """An address of one to four numbers, of which the last stands for all that are not there."""
    packed = draw(st.binary(min_size=4, max_size=4))
    first = draw(st.integers(0, 3))
    numbers = [*packed[:first], int.from_bytes(packed[first:])]
    return ".".join(
        draw(st.sampled_from(["{}", "0{:o}", "{:#x}", "0X{:X}", "000{:o}"])).format(n)
        for n in numbers
    )


@given(spellings())
def test_every_spelling_is_read_as_inet_aton_does(host: str) -> None:
    assert literal_address(host) == IPv4Address(socket.inet_aton(host))


@given(st.text("0123456789abcdefxX.", max_size=20))
@example("0x.0.0x.1")
def test_all_that_inet_aton_reads_is_read_alike(host: str) -> None:
    with suppress(OSError):  # most of it: it need not be an address
        assert literal_address(host) == IPv4Address(socket.inet_aton(host))


@pytest.mark.parametrize(
    "address",
    [
        *["10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
        *["127.0.0.1", "127.255.255.254", "169.254.0.1", "169.254.169.254", "168.63.129.16"],
        *["100.64.0.1", "100.100.100.200", "100.127.255.255", "0.0.0.0", "0.1.2.3"],
        *["192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1"],
        *["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
        *["::", "::1", "::127.0.0.1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"],
        *["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1"],
        *["64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "100::1"],
        "2001:0:7f00:1::f5ff:fffe",  # Teredo, a server on loopback
        "2001:0:5db8:d822::f5ff:fffe",  # Teredo, a client at 10.0.0.1
        *["2001:db8::1", "2001:2::1", "2001:10::1", "3fff::1", "4000::1", "5f00::1"],
    ],
)
def test_private_addresses(address: str) -> None:
    assert is_private(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *[PUBLIC, "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255"],
        *["100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255"],
        *["8.8.8.8", "192.0.1.1", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1"],
        *["::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::1", "2001:200::1"],
    ],
)
def test_public_addresses(address: str) -> None:
    assert not is_private(ip_address(address))


@given(st.ip_addresses())
def test_no_address_is_public_that_python_calls_private(address: IPv4Address | IPv6Address) -> None:
    inside = isinstance(address, IPv6Address) and (
        address.ipv4_mapped
        or address.sixtofour
        or address.teredo
        or address.packed[:2] == b"\0\x64"
    )
    if not inside and (not address.is_global or address.is_multicast or address.is_reserved):
        assert is_private(address)
