"""The command `actorlet`, also as `python -m actorlet`: hands over to an isolated process."""

from __future__ import annotations

import sys

from actorlet._process import become


def main() -> None:
    """Become `cli.main` with the same arguments."""
    become("cli.main", *sys.argv[1:])


if __name__ == "__main__":
    main()
