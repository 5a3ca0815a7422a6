"""Skills for the tests of the fleet, in a folder that is gone before the first request comes."""

from pathlib import Path
from tempfile import TemporaryDirectory

from mcpfleet import CacheHint, Server

server = Server("skilled", version="1.0.0", cache=CacheHint(60, "public"))

FILES: dict[str, str | bytes] = {
    "drawing/SKILL.md": "---\nname: drawing\ndescription: Draws.\nmetadata: {title: Art, since: 2026-01-31}\n---\n",
    "drawing/brushes/fine.png": b"\x89PNG\r\n\x1a\n\0",
    "drawing/brushes/notes.txt": "Überall.\r\n",
    "drawing/draw.sh": "echo draw\n",
    "drawing/.env": "TOKEN=hunter2\n",
    "office/billing/refunds/SKILL.md": "---\nname: refunds\ndescription: Pays back.\n---\nPay.\n",
    "office/notes.txt": "hunter2",
}

with TemporaryDirectory() as folder:
    for name, content in FILES.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    server.add_skills(folder)
