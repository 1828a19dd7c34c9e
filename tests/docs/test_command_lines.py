"""The command lines of the pages work: commands accept them, and tutorials run.

A line of a code block that begins with `actorlet` is a command line. A comment may say how it ends (`# status 1`),
or that it cannot run here (`# needs ...`, `# stays ...`). Blocks of a tutorial run in order, in one empty directory,
without the lines of kubectl, pip and pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path

import pytest

from cli.main import COMMANDS
from cli.main import main as actorlet
from config.flags.command_line import parse_flags
from docs.generators import replayed_failure

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TUTORIALS = DOCS / "tutorials"
PLUGIN = "actorlet.pytest_plugin"
PATIENCE_S = 300
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND_LINE = re.compile(r"^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*actorlet (.*)$", re.MULTILINE)
_STATUS = re.compile(r"# status (\d+)")
_NOT_HERE = re.compile(r"^(kubectl|pip|pytest)\b|^actorlet.*# (needs|stays) ")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each code block."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """(page, words after `actorlet`) of every command line; `actorlet run: ...` is a line of output."""
    for page in (*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))):
        for language, text in blocks(page):
            if language in ("", "sh"):
                for line in _COMMAND_LINE.findall(text.replace("\\\n", " ")):
                    words = shlex.split(line.partition("|")[0], comments=True)
                    if words and not words[0].endswith(":"):
                        yield page.relative_to(ROOT).as_posix(), words


COMMAND_LINES = list(command_lines())


class Understood(BaseException):
    """The command has read its arguments."""


def test_the_pages_have_command_lines() -> None:
    assert {words[0] for _, words in COMMAND_LINES} == set(COMMANDS)


@pytest.mark.parametrize(("page", "words"), COMMAND_LINES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_command_takes_the_arguments_that_a_page_gives_it(
    page: str, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The readers of `check DIR` and `--manifests DIR` look whether the directory is there.
    words = [str(tmp_path) if before in ("check", "--manifests") else word for before, word in pairwise(["", *words])]
    if words[0] == "run":
        assert parse_flags(words[1:]).faults == ()
        return
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
        parse(parser, argv)
        raise Understood

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    with pytest.raises(Understood):
        actorlet(words)


def run(script: str, place: Path) -> str:
    """Run a shell script in a directory, with `actorlet` as a function; returns what it prints."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    begin = f'set -eu\nactorlet() {{ {shlex.quote(sys.executable)} -m actorlet "$@"; }}\n'
    done = subprocess.run(
        ["sh", "-c", begin + script],
        cwd=place,
        env={**environment, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def line_of_script(line: str) -> str:
    """The line as it runs here, with patience for a busy machine; "" for one that cannot run."""
    if _NOT_HERE.match(line):
        return ""
    line = line.replace(" --once", f" --once --deadline {PATIENCE_S}")
    status = _STATUS.search(line)
    command = line.partition("#")[0] if status else line
    return f"{command} || test $? -eq {status[1]}" if status else line


def script(page: Path) -> str:
    lines = (line for language, text in blocks(page) if language == "sh" for line in text.splitlines())
    return "\n".join(map(line_of_script, lines))


def test_the_commands_of_a_tutorial_run(tmp_path: Path) -> None:
    told = script(TUTORIALS / "first-node.md")
    assert sum(line.startswith("actorlet") for line in told.splitlines()) >= 2
    run(told, tmp_path)


@pytest.mark.parametrize("page", replayed_failure.PAGES, ids=lambda page: page.stem)
def test_a_tutorial_on_replays_shows_what_its_commands_print(page: Path) -> None:
    text = page.read_text("utf-8")
    now = replayed_failure.page(text)
    assert replayed_failure.without_real(now) == replayed_failure.without_real(text), replayed_failure.COMMAND


def test_an_excerpt_follows_what_is_printed_and_a_line_that_is_gone_is_told() -> None:
    printed = ["seed 1: 20 pods", "noise", "  2.5 s  node-0/api  done", "end"]
    assert list(replayed_failure.excerpt(["seed 1: 19 pods", "...", "  9 s  node-0/api  done"], printed)) == [
        "seed 1: 20 pods",
        "...",
        "  2.5 s  node-0/api  done",
    ]
    with pytest.raises(replayed_failure.ExcerptError, match="nothing like 'gone' is printed"):
        list(replayed_failure.excerpt(["gone"], printed))


def test_the_scenario_of_the_how_to_holds(tmp_path: Path) -> None:
    page = DOCS / "how-to" / "write-a-scenario.md"
    (scenario,) = [text for language, text in blocks(page) if language == "yaml"]
    (tmp_path / "mine.yaml").write_text(scenario)
    assert "3 seeds, all held" in run(script(page), tmp_path)


def test_the_sweep_of_the_tutorial_finds_the_bug_and_nothing_once_it_is_mended(tmp_path: Path) -> None:
    page = TUTORIALS / "first-sweep.md"
    for language, text in blocks(page):
        if (named := re.match(r"# (\w+\.\w+)\n", text)) and language in ("python", "yaml"):
            (tmp_path / named[1]).write_text(text.replace("python3", sys.executable))
    first, second = (line for line in script(page).splitlines() if line.startswith("actorlet sweep"))
    told = (
        run(f"{first} --quiet", tmp_path) if "||" not in first else run(first.replace(" ||", " --quiet ||"), tmp_path)
    )
    assert "1. requests: pods default/shop is missing" in told
    operator = tmp_path / "site_operator.py"
    (mended,) = [text for language, text in blocks(page) if language == "python" and not text.startswith("#")]
    begin, _, rest = operator.read_text().partition("    if exists(Service, name):\n")
    operator.write_text(f"{begin}{mended}\n\n{rest.partition(chr(10) * 3)[2]}")
    assert "no findings" in run(f"{second} --quiet", tmp_path)


def test_the_operator_of_the_tutorial_fails_at_first_and_then_passes(tmp_path: Path) -> None:
    code = [text for language, text in blocks(TUTORIALS / "first-operator-test.md") if language == "python"]
    operator, test, mended = code
    (tmp_path / "operator_of_mine.py").write_text(operator)
    (tmp_path / "test_operator.py").write_text(test)
    play = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider -p no:randomly ."
    if not any(entry.value == PLUGIN for entry in entry_points(group="pytest11")):
        play += f" -p {PLUGIN}"  # this tree is not installed
    assert "1 failed" in run(f"{play} || test $? -eq 1", tmp_path)
    (faulty,) = re.findall(r"^ +if name not in known:\n", operator, re.MULTILINE)
    (tmp_path / "operator_of_mine.py").write_text(operator.replace(faulty, mended))
    assert "1 passed" in run(play, tmp_path)
