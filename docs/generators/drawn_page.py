"""A page of `docs/` that code draws, and the command that writes or checks it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

FOLDER = Path(__file__).resolve().parents[1] / "reference"


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
    parser = argparse.ArgumentParser(prog=page.command, description=f"Draw docs/reference/{page.path.name}.")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the page is out of date")
    if not parser.parse_args(arguments).check:
        page.path.write_text(page.text())
    elif page.path.read_text() != page.text():
        print(f"docs/reference/{page.path.name} is out of date; run: {page.command}", file=sys.stderr)
        return 1
    return 0
