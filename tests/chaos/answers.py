"""What a client answers to a question, as its user or its model would."""

from tests.chaos.wire import Json


def accept(value: str) -> Json:
    """The result of a client whose user has filled the form in."""
    return {"action": "accept", "content": {"value": value}}


def sampled(value: str) -> Json:
    """The result of a client whose model has said something."""
    return {"role": "assistant", "model": "chaos", "content": {"type": "text", "text": value}}
