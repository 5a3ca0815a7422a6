from mcpfleet.backplane.contact import Contact
from tests.clock import Clock


def contact_that_answered(clock: Clock, *, times: int, every: float) -> Contact:
    contact = Contact(patience=4.0, clock=clock)
    for _ in range(times):
        contact.answered(clock())
        clock.pass_by(every)
    return contact


def test_there_is_no_contact_before_the_first_answer() -> None:
    assert not Contact(patience=4.0, clock=Clock()).unbroken_for(0)


def test_contact_counts_from_the_first_answer() -> None:
    contact = contact_that_answered(Clock(), times=4, every=2.5)
    assert contact.unbroken_for(10)
    assert not contact.unbroken_for(10.1)


def test_one_failed_command_breaks_it() -> None:
    clock = Clock()
    contact = contact_that_answered(clock, times=4, every=2.5)
    contact.lost()
    assert not contact.unbroken_for(0)
    contact.answered(clock())
    assert contact.unbroken_for(0)
    assert not contact.unbroken_for(0.1)


def test_a_process_that_wakes_has_no_contact_even_before_its_next_command() -> None:
    clock = Clock()
    contact = contact_that_answered(clock, times=4, every=2.5)
    clock.pass_by(3600)
    assert not contact.unbroken_for(0)
    contact.answered(clock())
    assert contact.unbroken_for(0)
    assert not contact.unbroken_for(1)


def test_an_answer_proves_contact_only_as_of_when_it_was_asked_for() -> None:
    clock = Clock()
    contact = Contact(patience=4.0, clock=clock)
    asked = clock()
    clock.pass_by(2.0)
    contact.answered(asked)
    clock.pass_by(3.0)
    contact.answered(clock())  # of the five seconds between the two questions nothing is known
    clock.pass_by(1.0)
    assert contact.unbroken_for(1.0)
    assert not contact.unbroken_for(1.1)
