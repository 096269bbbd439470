"""Addresses as Go reads and prints them."""

import pytest

from lab.toxiproxy.addresses import AddressError, join_address, split_address


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("", ("", 0)),
        (":80", ("", 80)),
        ("h:", ("h", 0)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_host_and_port_are_split(address: str, parts: tuple[str, int]) -> None:
    assert split_address(address) == parts


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("foo", "address foo: missing port in address"),
        ("[::1]", "address [::1]: missing port in address"),
        ("::1:80", "address ::1:80: too many colons in address"),
        ("h:65536", "address 65536: invalid port"),
        ("h:no-such-service", "lookup tcp/no-such-service: unknown port"),
    ],
)
def test_what_is_no_address_is_told_as_go_tells_it(address: str, sentence: str) -> None:
    with pytest.raises(AddressError) as caught:
        split_address(address)
    assert str(caught.value) == sentence


def test_only_ipv6_hosts_get_brackets() -> None:
    assert (join_address("::1", 80), join_address("127.0.0.1", 80)) == ("[::1]:80", "127.0.0.1:80")
