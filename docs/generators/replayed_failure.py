"""Writes what the commands of the tutorials on replays print.

`python -m docs.generators.replayed_failure` does it. A page has its text and its commands. The block after each
command is an excerpt of what it prints now. A line of `...` stands for any lines. Real time and memory differ from run
to run and are kept as the page has them.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "docs/tutorials"
PAGES = (TUTORIALS / "first-replayed-failure.md", TUTORIALS / "three-o-clock.md")
EXAMPLES = "examples"
"""The commands find the examples of the repository there."""
COMMAND = "python -m docs.generators.replayed_failure"
LIMIT_S = 600
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REAL = re.compile(r"(?<=virtual time in )[\d.]+ s|\b\d+ MiB\b|worker\.py:\d+")
"""What differs from run to run or with each change of a line of code."""
_STATUS = re.compile(r"# status (\d+)")
CUT = " ..."
_NUMBER = re.compile(r"[\d.]+")


class ExcerptError(ValueError):
    """A line of an excerpt is like no line that the command prints."""


def page(text: str) -> str:
    """The page with what its commands print now. Raises ExcerptError."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(ROOT / EXAMPLES / "night", Path(place) / EXAMPLES / "night")
        printed, parts, at = "", [], 0
        uid = ""
        for block in _BLOCK.finditer(text):
            language, content = block.groups()
            if language == "sh":
                if uid and (old := _UID.search(content)):
                    content = content.replace(old[0], uid)
                printed = _printed(content, Path(place))
            elif not language and printed:
                content = "".join(f"{line}\n" for line in excerpt(content.splitlines(), printed.splitlines()))
                found = _UID.search(content)
                uid = found[0] if found else uid
            parts += [text[at : block.start(2)], content]
            at = block.end(2)
    return "".join([*parts, text[at:]])


def excerpt(shown: list[str], printed: list[str]) -> Iterator[str]:
    """The lines of `printed` that stand where those of `shown` stood: the next one with the same words.

    Of a line that ends with `...`, the beginning is shown.
    """
    at = 0
    for line in shown:
        if line.strip() == "...":
            yield line
            continue
        is_cut, count = line.endswith(CUT), len(line.removesuffix(CUT).split())
        words = _words(line.removesuffix(CUT))

        def same(other: str, words: str = words, first: int | None = count if is_cut else None) -> bool:
            return _words(" ".join(other.split()[:first]) if first is not None else other) == words

        while at < len(printed) and not same(printed[at]):
            at += 1
        if at == len(printed):
            raise ExcerptError(f"nothing like {line!r} is printed any more; change the excerpt, then run: {COMMAND}")
        yield " ".join(printed[at].split()[:count]) + CUT if is_cut else printed[at].rstrip()
        at += 1


def without_real(text: str) -> str:
    """The text without what differs from run to run."""
    return _REAL.sub("", text)


def _words(line: str) -> str:
    """A line without its numbers, names and ids: by that it is found again."""
    line = re.sub(r"\bshop-\d+\b", "shop", _UID.sub("", _REAL.sub("", line)))
    return " ".join(_NUMBER.sub("", line).split())


def _printed(script: str, place: Path) -> str:
    lines = []
    for line in script.splitlines():
        status = _STATUS.search(line)
        lines.append(f"{line.partition('#')[0]} || test $? -eq {status[1]}" if status else line)
    begin = f'set -eu\nactorlet() {{ {shlex.quote(sys.executable)} -m actorlet "$@"; }}\n'
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COLUMNS"))}
    done = subprocess.run(
        ["sh", "-c", begin + "\n".join(lines)],
        cwd=place,
        env={**environment, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise ExcerptError(f"a command of the page ends with {done.returncode}:\n{done.stdout}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write what the commands of the tutorials print.")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the page is out of date")
    options = parser.parse_args()
    outdated = 0
    for path in PAGES:
        before = path.read_text("utf-8")
        now = page(before)
        if without_real(now) == without_real(before):
            continue
        outdated += 1
        if options.check:
            print(f"{path.relative_to(ROOT)} is out of date; run: {COMMAND}", file=sys.stderr)
        else:
            path.write_text(now, "utf-8")
    return 1 if outdated and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
