"""Prints every finding and ends with status 1 when there is one."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.lint.rules import check_pages, check_tree

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("config", "runtime", "actors", "simulation", "cli", "actorlet", "tests", "benchmarks", "docs", "tools")


def main(arguments: list[str]) -> int:
    findings = list(check_tree(ROOT, arguments or FOLDERS))
    findings += [] if arguments else check_pages(ROOT)
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} finding{'s' if len(findings) > 1 else ''}", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
