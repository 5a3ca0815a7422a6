"""The table of revisions, fact by fact against the change logs."""

import re
from pathlib import Path

import pytest

import mcpfleet.protocol
from mcpfleet.protocol import revisions
from mcpfleet.protocol.revisions import Era, Revision

FIRST, SECOND, THIRD, FOURTH, MODERN = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"

KNOWN_SINCE = [
    ("batches", [SECOND]),
    ("audio", [SECOND, THIRD, FOURTH, MODERN]),
    ("tool_annotations", [SECOND, THIRD, FOURTH, MODERN]),
    ("progress_message", [SECOND, THIRD, FOURTH, MODERN]),
    ("completions", [SECOND, THIRD, FOURTH, MODERN]),
    ("version_header", [THIRD, FOURTH, MODERN]),
    ("resource_links", [THIRD, FOURTH, MODERN]),
    ("structured_output", [THIRD, FOURTH, MODERN]),
    ("titles", [THIRD, FOURTH, MODERN]),
    ("last_modified", [THIRD, FOURTH, MODERN]),
    ("content_meta", [THIRD, FOURTH, MODERN]),
    ("elicitation", [THIRD, FOURTH, MODERN]),
    ("icons", [FOURTH, MODERN]),
    ("url_elicitation", [FOURTH, MODERN]),
    ("elicitation_complete", [FOURTH]),
    ("rich_forms", [FOURTH, MODERN]),
    ("sampling_tools", [FOURTH, MODERN]),
    ("priming_event", [FOURTH]),
    ("server_requests", [FIRST, SECOND, THIRD, FOURTH]),
    ("resumption", [FIRST, SECOND, THIRD, FOURTH]),
    ("non_object_output", [MODERN]),
    ("result_type", [MODERN]),
    ("cache_hints", [MODERN]),
    ("server_info_stamp", [MODERN]),
]


@pytest.mark.parametrize(("fact", "dates"), KNOWN_SINCE)
def test_a_fact_holds_for_exactly_the_revisions_of_the_change_log(fact: str, dates: list[str]) -> None:
    assert [revision.date for revision in revisions.REVISIONS if getattr(revision, fact)] == dates


def test_every_fact_is_checked_against_the_change_log() -> None:
    checked = {fact for fact, _ in KNOWN_SINCE}
    assert {*Revision.__slots__} - checked == {"date", "era", "resource_not_found"}


def test_a_missing_resource_has_the_code_of_its_revision() -> None:
    """Modern "Key Changes", minor change 6."""
    codes = {revision.date: revision.resource_not_found for revision in revisions.REVISIONS}
    assert codes == {FIRST: -32002, SECOND: -32002, THIRD: -32002, FOURTH: -32002, MODERN: -32602}


def test_only_the_newest_revision_is_modern() -> None:
    assert [revision.date for revision in revisions.REVISIONS if revision.era is Era.MODERN] == [MODERN]
    assert revisions.REVISIONS[-1] is revisions.LATEST
    assert revisions.MODERN_DATES == (MODERN,)


def test_dates_are_offered_newest_first() -> None:
    assert revisions.ALL_DATES == (MODERN, FOURTH, THIRD, SECOND, FIRST)
    assert revisions.spoken() == revisions.ALL_DATES


def test_of_legacy_revisions_only_a_pinned_one_is_offered() -> None:
    assert revisions.spoken(revisions.OLDEST) == (MODERN, FIRST)


@pytest.mark.parametrize("revision", revisions.REVISIONS, ids=lambda revision: revision.date)
def test_a_revision_is_found_by_its_exact_date(revision: Revision) -> None:
    assert revisions.find(revision.date) is revision
    assert revisions.find(revision.date + " ") is None


@pytest.mark.parametrize(
    ("requested", "answered"),
    [(FIRST, FIRST), (SECOND, SECOND), (THIRD, THIRD), (FOURTH, FOURTH)],
)
def test_a_handshake_gets_the_legacy_revision_it_asks_for(requested: str, answered: str) -> None:
    """Lifecycle, "Version Negotiation": a supported version MUST be answered with the same."""
    assert revisions.negotiate(requested).date == answered


@pytest.mark.parametrize("requested", [MODERN, "2099-01-01", "1.0.0", ""])
def test_a_handshake_for_any_other_version_gets_the_latest_legacy_revision(requested: str) -> None:
    """Lifecycle, "Version Negotiation": otherwise another supported version, which SHOULD be the latest."""
    assert revisions.negotiate(requested) is revisions.LATEST_LEGACY
    assert revisions.LATEST_LEGACY.date == FOURTH


def test_a_legacy_request_that_names_no_version_is_taken_for_the_second_revision() -> None:
    """Transports, "Protocol Version Header": without one the server SHOULD assume this version."""
    assert revisions.ASSUMED.date == SECOND


def test_no_other_module_of_the_protocol_names_a_date() -> None:
    root = Path(mcpfleet.protocol.__path__[0])
    named = {path.name for path in root.rglob("*.py") if re.search(r"20\d\d-\d\d-\d\d", path.read_text())}
    assert named == {"revisions.py"}


def test_a_pin_is_what_everybody_gets() -> None:
    for requested in (*revisions.ALL_DATES, "1999-01-01"):
        assert revisions.negotiate(requested, revisions.REVISIONS[0]) is revisions.REVISIONS[0]
