"""The official clients and skills (the extension `io.modelcontextprotocol/skills`), in every era and over every
transport."""

import base64

from tests.interop.driver import Connection
from tests.interop.subjects import shows
from tests.servers.skilled import FILES

ROOT = "skill://drawing"
HIDDEN = "drawing/.env"
OF_NO_SKILL = "office/notes.txt"


@shows("skills")
async def test_it_lists_skills_and_their_directories_by_methods_that_it_need_not_know(client: Connection) -> None:
    assert client.about["capabilities"]["extensions"]["io.modelcontextprotocol/skills"] == {"directoryRead": True}
    skills = (await client.request("skills/list"))["skills"]
    assert [skill["frontmatter"]["name"] for skill in skills] == ["drawing", "refunds"]
    found = (await client.request("skills/get", {"uri": skills[0]["uri"]}))["skill"]
    assert found == skills[0]
    children = (await client.request("resources/directory/read", {"uri": f"{ROOT}/brushes"}))["resources"]
    assert [child["uri"] for child in children] == [f"{ROOT}/brushes/fine.png", f"{ROOT}/brushes/notes.txt"]


@shows("skills that are verified")
async def test_it_finds_every_file_to_be_what_was_listed(client: Connection) -> None:
    read = {uri: base64.b64decode(data) for uri, data in (await client.do("skills")).items()}
    listed = FILES.keys() - {HIDDEN, OF_NO_SKILL}
    assert read == {f"skill://{name}": encoded(FILES[name]) for name in listed}


def encoded(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
