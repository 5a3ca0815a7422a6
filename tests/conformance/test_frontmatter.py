"""What a server tells of a skill is what a host reads out of its file: here one that is not written in Python.

The package yaml, by which the official suite reads frontmatter, is installed with it.
"""

import json
import subprocess
from pathlib import Path

from tests.node import NODE, environment
from tests.server.test_frontmatter import VALUES

READER = """
const { parse } = require("yaml");
const texts = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(texts.map((text) => parse(text))));
"""


def test_a_host_reads_the_same_out_of_a_frontmatter(suite_packages: Path) -> None:
    """The extension `io.modelcontextprotocol/skills`, "Frontmatter Verification": compared field by field."""
    done = subprocess.run(
        [NODE, "-e", READER],
        cwd=suite_packages,
        env=environment(),
        input=json.dumps([f"a: {text}" for text, _ in VALUES]),
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    read = zip(json.loads(done.stdout), VALUES, strict=True)
    assert [(found, text) for found, (text, value) in read if found != {"a": value}] == []
