"""Redis is reached over TLS, as a user who may do no more than a fleet needs."""

from tests.fleets import Launch
from tests.redis_tls import TlsRedis
from tests.wire import LATEST_HANDSHAKE, MODERN, connected

NAMESPACE = "secured"
RIGHTS = (f"~{NAMESPACE}:*", f"&{NAMESPACE}:*", "+@all", "-@admin", "-@dangerous", "+info")
"""Its own keys and channels, and no command that could harm others."""


async def test_a_user_of_its_own_over_tls_is_all_that_a_fleet_needs(launch_fleet: Launch, tls_redis: TlsRedis) -> None:
    """Sessions, streams taken up elsewhere, cancellation and listen streams: every kind of key and channel."""
    with tls_redis.server.client() as admin:
        admin.execute_command("ACL", "SETUSER", "fleet", "on", ">p@ss/word", *RIGHTS)
        fleet = launch_fleet(2, redis_url=tls_redis.url("fleet:p%40ss%2Fword@"), NAMESPACE=NAMESPACE)
        async with (
            connected(fleet.url, LATEST_HANDSHAKE) as legacy,
            connected(fleet.url, MODERN) as modern,
            modern.asking("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, pin=0) as watching,
            legacy.listening(pin=1) as standalone,
        ):
            assert await watching.message() is not None
            await legacy.request("logging/setLevel", {"level": "info"})
            async with legacy.calling("count", pin=0, n=20, delay=0.05) as stream:
                assert await stream.message() is not None
            assert (await legacy.resume(stream.last_event_id, pin=1)).text == "20"
            async with legacy.calling("slow", as_id="c", pin=0, seconds=60) as call:
                assert await call.event() is not None
                assert (await legacy.cancel("c", pin=1)).status == 202
                assert (await call.answer(within=5)).replies == []
            await modern.call("announce", pin=1, what="tools")
            for told in (watching, standalone):
                message = await told.message()
                assert message is not None
                assert message["method"] == "notifications/tools/list_changed"
            assert (await legacy.end()).status == 204
        assert admin.execute_command("ACL", "LOG") == [], "and nothing more was tried"
