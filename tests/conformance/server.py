"""What the official suite expects of a server under test, served by `mcpfleet serve tests.conformance.server:server`.

The suite calls what is here by name; what is said is in its own words.
"""

from typing import Final

from mcpfleet import Server
from tests.conformance.fixtures import arguments, notices, prompts, questions, resources, results, rounds, skills, tasks

PARTS: Final = (results, arguments, notices, questions, rounds, prompts, resources, skills, tasks)
"""In this order, since the suite calls the first tool without arguments."""

server = Server("conformance", version="1.0.0")
for part in PARTS:
    server.include(part.server)
