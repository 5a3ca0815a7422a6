"""Whether each subscription was told of each event: what is missing, twice, out of order, or another's."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from tests.chaos.ledger import CYCLE, EVERYBODY, GAP, Event, Ledger, Notice, Subscription, uri_of
from tests.chaos.sins import Finding, Sin

_LEAST: Final = float("-inf")


def judge_notices(ledger: Ledger, settle: float) -> Iterator[Finding]:
    """Judge every subscription; an event must have been told `settle` seconds after it was acknowledged."""
    by_owner: defaultdict[str, list[Event]] = defaultdict(list)
    for event in ledger.events:
        by_owner[event.owner].append(event)
    for subscription in ledger.subscriptions:
        readings = {owner: _Reading(events, subscription) for owner, events in by_owner.items()}
        yield from _read(subscription, readings)
        closed = _closed(ledger, subscription)
        for owner in (subscription.principal, EVERYBODY):
            if owner in readings:
                yield from readings[owner].missing(closed - settle)


def _closed(ledger: Ledger, subscription: Subscription) -> float:
    """When no more could come: what a session had not been told when Redis was emptied went with it."""
    closed = subscription.closed if subscription.closed is not None else float("inf")
    emptied = ledger.emptied(subscription.began) if subscription.resumable else ()
    return min(closed, *emptied, closed)


def _read(subscription: Subscription, readings: dict[str, "_Reading"]) -> Iterator[Finding]:
    for connection in subscription.connections:
        anyway: set[str] = set()
        for notice in connection:
            owner = notice.uri.removeprefix("chaos://").partition("/")[0]
            if notice.uri == GAP:
                anyway = {uri_of(each, serial) for each in readings for serial in range(CYCLE)}
                for reading in readings.values():
                    reading.gap = notice.at
            elif notice.uri in anyway:
                anyway.discard(notice.uri)
            elif owner not in (subscription.principal, EVERYBODY):
                yield Finding(Sin.LEAKED, f"{subscription.principal} was told of {notice.uri}")
            else:
                yield from readings[owner].take(notice)


class _Reading:
    """One owner's events as one subscription was told of them."""

    def __init__(self, events: Sequence[Event], subscription: Subscription) -> None:
        since = subscription.began
        self.gap = _LEAST
        """Until when all that was published counts as told."""
        self._events = [event for event in events if event.acknowledged is None or event.acknowledged >= since]
        self._subscription = subscription
        self._told: set[int] = set()
        self._excused: set[int] = set()
        """What a notice may have been about that was taken for another's."""
        self._last = -1

    def take(self, notice: Notice) -> Iterator[Finding]:
        """Find out which event a notice is about."""
        about = [event for event in self._events if event.uri == notice.uri and event.began <= notice.at]
        if not self._subscription.resumable:  # several changes may be told as one, and any may be told again
            self._told.update(event.serial for event in about)
            return
        new = [event for event in about if event.serial not in self._told]
        later = [event for event in new if event.serial > self._last and event.acknowledged is not None]
        doubtful = [event for event in new if event.acknowledged is None]
        begun = self._subscription.acknowledged
        if later and not (doubtful and self._between(later[0], begun)):
            self._told.add(later[0].serial)
            self._last = later[0].serial
        elif doubtful:
            self._told.add(doubtful[0].serial)
            if later and not self._between(later[0], max(begun, self.gap)):  # a gap may hide what is between, or not
                self._excused.add(later[0].serial)
        elif new:
            self._told.add(new[0].serial)
            yield Finding(
                Sin.DISORDERED,
                f"{notice.uri} was told to {self._subscription.principal} out of its turn, at {notice.at:.1f}",
            )
        else:
            yield Finding(
                Sin.DUPLICATED, f"{notice.uri} was told to {self._subscription.principal} twice, at {notice.at:.1f}"
            )

    def missing(self, until: float) -> Iterator[Finding]:
        """The events that were published in time, and not told."""
        for event in self._events:
            at, since = event.acknowledged, max(self._subscription.acknowledged, self.gap)
            known = event.serial in self._told or event.serial in self._excused
            if at is not None and at < until and event.began > since and not known:
                yield Finding(
                    Sin.LOST, f"{event.uri} ({event.serial}) was never told to {self._subscription.principal}"
                )

    def _between(self, event: Event, since: float) -> bool:
        """Whether an earlier event, of those begun since then, should have been told before this one."""
        return any(
            self._last < each.serial < event.serial and each.acknowledged is not None and each.began > since
            for each in self._events
        )
