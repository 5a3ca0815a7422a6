from mcpfleet.backplane.backoff import Backoff


def test_pauses_double_up_to_the_most_and_start_again_after_a_success() -> None:
    backoff = Backoff(first=0.1, most=1.0, random=lambda: 1.0)
    assert [round(backoff.pause(), 3) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    backoff.reset()
    assert round(backoff.pause(), 3) == 0.1


def test_the_jitter_takes_away_half_at_most() -> None:
    backoff = Backoff(first=0.1, most=1.0, random=lambda: 0.0)
    assert round(backoff.pause(), 3) == 0.05


def test_a_very_long_outage_overflows_nothing() -> None:
    backoff = Backoff(random=lambda: 1.0)
    assert {backoff.pause() for _ in range(5000)} <= {0.05 * 2**n for n in range(6)} | {2.0}
