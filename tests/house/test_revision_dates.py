"""What a revision of the protocol knows is a fact in one table; no other module may ask for its date."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.source import SOURCE_ROOTS, Source, broken, files, planted

TABLE = Path("shared/mcpfleet/protocol/revisions.py")
DATE = re.compile(r"\b20[0-9]{2}[-_][01][0-9][-_][0-3][0-9]\b|_20[0-9]{2}_[01][0-9]_[0-3][0-9]\b")


def dates(source: Source) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(source.text.splitlines(), 1):
        for found in DATE.findall(line):
            yield number, f"the date {found}"


def test_only_the_table_of_revisions_holds_a_date() -> None:
    shipped = [source for source in files() if source.path.parts[0] in SOURCE_ROOTS and source.path != TABLE]
    assert broken(dates, shipped) == []


def test_the_table_of_revisions_holds_dates() -> None:
    assert broken(dates, [source for source in files() if source.path == TABLE])


def test_a_date_is_found_in_code_docstrings_comments_and_names() -> None:
    text = '"""Since 2025-06-18."""\nif revision < "2025-11-25":  # 2024-11-05\n    from x import _2026_07_28\n'
    assert [line for line, _ in dates(planted(text))] == [1, 2, 2, 3]
