"""A page of `docs/` that code draws, and the command that writes or checks it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"


class DrawnPage(msgspec.Struct, frozen=True):
    """One page of `docs/reference/`. `module`: the page's own module here."""

    module: str

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.module.replace('_', '-')}.md"

    @property
    def command(self) -> str:
        return f"python -m docs.generators.{self.module}"

    def text(self) -> str:
        """The whole page."""
        raise NotImplementedError


def main(page: DrawnPage, arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it. The exit status: 1 when the check finds it out of date."""
    return main_of((page,), arguments)


def main_of(pages: Sequence[DrawnPage], arguments: Sequence[str] | None = None) -> int:
    """Write the pages of one generator, or check them.

    The exit status: 1 when the check finds one out of date.
    """
    command = pages[0].command
    names = ", ".join(_name(page) for page in pages)
    parser = argparse.ArgumentParser(prog=command, description=f"Draw {names}.")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether a page is out of date")
    is_check = parser.parse_args(arguments).check
    old = [page for page in pages if not page.path.exists() or page.path.read_text() != page.text()]
    for page in old:
        if is_check:
            print(f"{_name(page)} is out of date; run: {command}", file=sys.stderr)
        else:
            page.path.write_text(page.text())
    return int(is_check and bool(old))


def _name(page: DrawnPage) -> str:
    """As it is seen from the root of the repository, where it is there."""
    return page.path.relative_to(ROOT).as_posix() if page.path.is_relative_to(ROOT) else page.path.name
