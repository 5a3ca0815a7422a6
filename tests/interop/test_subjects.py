"""The table of who can do what: it says nothing twice, and nothing of nobody."""

import pytest

from tests.interop.subjects import CLIENTS, MISSING, SUBJECTS, Missing


@pytest.mark.parametrize("missing", MISSING, ids=lambda missing: f"{missing.feature}: {missing.because}")
def test_each_row_is_about_somebody_of_whom_no_other_row_says_it(missing: Missing) -> None:
    others = [other for other in MISSING if other.feature == missing.feature and other is not missing]
    concerned = [subject for subject in SUBJECTS if missing.concerns(subject)]
    assert [subject for subject in concerned if not any(other.concerns(subject) for other in others)]


def test_every_client_is_tried_out_in_every_era_that_it_knows() -> None:
    eras = {client: {subject.era for subject in SUBJECTS if subject.client == client} for client in CLIENTS}
    assert eras == {"python": {"legacy", "modern"}, "typescript": {"legacy", "modern"}, "typescript-v1": {"legacy"}}
