"""The URL of a Cluster."""

import pytest

from mcpfleet.backplane.seeds import Seeds
from mcpfleet.backplane.topology import Address
from mcpfleet.errors import SettingsError

NODE = Address("10.0.0.7", 7007)


@pytest.mark.parametrize(
    ("url", "addresses", "node"),
    [
        ("redis+cluster://a:1,b:2/0", [Address("a", 1), Address("b", 2)], "redis://10.0.0.7:7007/0"),
        ("redis+cluster://a", [Address("a", 6379)], "redis://10.0.0.7:7007/0"),
        ("redis+cluster://a,[::1]:7/", [Address("a", 6379), Address("::1", 7)], "redis://10.0.0.7:7007/0"),
        ("rediss+cluster://u:p%40,@a:1,b:2", [Address("a", 1), Address("b", 2)], "rediss://u:p%40,@10.0.0.7:7007/0"),
        (
            "rediss+cluster://a:1/0?ssl_ca_certs=/x,y",
            [Address("a", 1)],
            "rediss://10.0.0.7:7007/0?ssl_ca_certs=/x,y",
        ),
    ],
)
def test_what_is_no_host_holds_for_every_node(url: str, addresses: list[Address], node: str) -> None:
    seeds = Seeds.parse(url)
    assert list(seeds.addresses) == addresses
    assert seeds.url(NODE) == node


@pytest.mark.parametrize(
    "url",
    [
        "redis+cluster://",
        "redis+cluster:///0",
        "redis+cluster://a,,b",
        "redis+cluster://a:x",
        "redis+cluster://a:99999",
        "redis+cluster://a/1",
        "redis+cluster://a/cache",
        "redis+cluster://:secret/word@a",
        "redis+cluster://u:secret@",
        "http+cluster://a",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError, match="URL") as refused:
        Seeds.parse(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["redis://a", "rediss://a,b", "unix:///redis+cluster://"])
def test_other_urls_are_not_a_clusters(url: str) -> None:
    assert not Seeds.named(url)
