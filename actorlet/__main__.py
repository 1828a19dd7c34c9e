"""The command `actorlet`, also as `python -m actorlet`: hands over to an isolated process."""

from __future__ import annotations

import os
import sys

from actorlet._process import command


def main() -> None:
    """Become `cli.main` with the same arguments. The process id stays, so service managers and signals find it."""
    words = command("cli.main", *sys.argv[1:])
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
