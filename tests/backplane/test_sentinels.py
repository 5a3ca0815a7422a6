"""The URL of Sentinels, and real ones that are asked where the master is."""

import asyncio

import pytest

from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.sentinels import Sentinels
from mcpfleet.backplane.topology import Address
from mcpfleet.errors import SettingsError, Unavailable
from tests.backplane.conftest import answered
from tests.redis_sentinel import SENTINELS, RedisSentinels

MASTER = Address("10.0.0.7", 7007)


@pytest.mark.parametrize(
    ("url", "sentinels", "master"),
    [
        ("redis+sentinel://a:1,b/mymaster", ["redis://a:1?", "redis://b:26379?"], "redis://10.0.0.7:7007?"),
        ("redis+sentinel://[::1]:7/mymaster/3", ["redis://[::1]:7?"], "redis://10.0.0.7:7007/3?"),
        ("redis+sentinel://u:p%40@a:1/mymaster/0", ["redis://a:1?"], "redis://u:p%40@10.0.0.7:7007/0?"),
        (
            "rediss+sentinel://:p@a:1/mymaster?sentinel_username=s&sentinel_password=%40q&ssl_cert_reqs=none&x=1",
            ["rediss://s:%40q@a:1?ssl_cert_reqs=none"],
            "rediss://:p@10.0.0.7:7007?ssl_cert_reqs=none&x=1",
        ),
    ],
)
def test_what_is_for_the_master_and_what_for_the_sentinels(url: str, sentinels: list[str], master: str) -> None:
    parsed = Sentinels.parse(url)
    assert (list(parsed.urls), parsed.service, parsed.url(MASTER)) == (sentinels, "mymaster", master)


def test_the_name_of_a_service_may_be_percent_encoded() -> None:
    assert Sentinels.parse("redis+sentinel://a/my%2Fmaster").service == "my/master"


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://",
        "redis+sentinel://a",
        "redis+sentinel://a/",
        "redis+sentinel:///mymaster",
        "redis+sentinel://a,,b/mymaster",
        "redis+sentinel://a:x/mymaster",
        "redis+sentinel://a/mymaster/cache",
        "redis+sentinel://a/mymaster/0/1",
        "redis+sentinel://a/mymaster?colour=red",
        "redis+sentinel://a/mymaster?sentinel_colour=red",
        "redis+sentinel://:secret/word@a/mymaster/0/1",
        "redis+sentinel://u:secret@/mymaster",
        "http+sentinel://a/mymaster",
    ],
)
async def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError, match="URL") as refused:
        Sentinels.parse(url).dialer(timeout=1, name="test")
    assert "secret" not in str(refused.value)


async def test_what_a_master_took_over_is_served_when_it_is_another_server(sentinels: RedisSentinels) -> None:
    async with RedisBackplane.at(sentinels.url, namespace="test", durability="replicas:1") as backplane:
        await answered(backplane)
        position = await backplane.open("s/log", ttl=600)
        position = await backplane.append("s/log", b"before", ttl=600, keep=9)
        await backplane.settle("s")
        sentinels.master.kill()
        sentinels.await_failover()
        await answered(backplane)
        async with asyncio.timeout(10), backplane.watch("s/log", poll=60) as bell:
            await bell.rung()
            await backplane.append("s/log", b"after", ttl=600, keep=9)
            await bell.rung()
            [entry] = await backplane.read("s/log", after=position)
            assert entry.data == b"after"


async def test_one_sentinel_that_answers_is_enough(sentinels: RedisSentinels) -> None:
    for number in range(SENTINELS - 1):
        sentinels.kill(number)
    async with RedisBackplane.at(sentinels.url, namespace="test") as backplane:
        await answered(backplane)
        assert await backplane.put("s/a", b"x", ttl=60)


async def test_a_service_that_no_sentinel_knows_is_an_outage_that_says_so(sentinels: RedisSentinels) -> None:
    unknown = sentinels.url.replace("/sessions/", "/unknown/")
    async with RedisBackplane.at(unknown, namespace="test") as backplane:
        with pytest.raises(Unavailable, match="no Sentinel knows 'unknown'"):
            await backplane.get("s/a")


async def test_without_any_sentinel_the_store_is_away(sentinels: RedisSentinels) -> None:
    for number in range(SENTINELS):
        sentinels.kill(number)
    async with RedisBackplane.at(sentinels.url, namespace="test") as backplane:
        with pytest.raises(Unavailable, match="a Sentinel does not answer"):
            await backplane.get("s/a")
