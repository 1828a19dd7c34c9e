"""Processes of actorlet's own: Python in isolated mode, with the floors first on its path.

The floors have common names (`config`, `simulation`, ...), and so have folders of other projects. So a user's process
imports no floor, and actorlet's processes look neither in the working directory, nor in `PYTHONPATH`, nor in the user's
site-packages (`python -I`). This file runs as a script there; everything at its top is of the standard library.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import NoReturn

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_AGENT = "run"
"""The command that lives for months."""
_ALLOCATOR = "PYTHONMALLOC"


def command(module: str, *arguments: str) -> list[str]:
    """The command line of a process that runs `main()` of a module of the floors, such as `cli.main`."""
    no_bytecode = ["-B"] if sys.dont_write_bytecode else []
    return [sys.executable, "-I", *no_bytecode, os.path.join(_PACKAGE, "_process.py"), module, *arguments]


def become(module: str, *arguments: str) -> NoReturn:
    """Replace this process by `command`. The process id stays, so service managers and signals find it.

    The agent uses the allocator of the C library. Python's own keeps an arena of 1 MiB as long as one object in it
    lives, and after a burst some live in all of them. The C library gives pages of 4 KiB back (`runtime.io.heap`).
    Python reads the choice from the environment only, so the agent starts without the other variables of Python instead
    of `-I`.
    """
    words = command(module, *arguments)
    if arguments[:1] != (_AGENT,):
        os.execv(words[0], words)
    words[1:2] = ["-s", "-P"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    os.execve(words[0], words, {**environment, _ALLOCATOR: "malloc"})


def _run(module: str, arguments: list[str]) -> int:
    """Run `main()` of the module, which finds its arguments in `sys.argv`; returns its exit status."""
    installed_in = os.path.dirname(_PACKAGE)
    floors = os.path.join(_PACKAGE, "_floors")
    # In a clone, and so in an editable install, the floors lie beside this package.
    sys.path.insert(0, floors if os.path.isdir(floors) else installed_in)
    if installed_in not in sys.path:
        # `pip install --user` and `--target` put the dependencies where isolated Python does not look.
        sys.path.append(installed_in)
    sys.argv = ["actorlet", *arguments]
    os.environ.pop(_ALLOCATOR, None)  # not for the programs that it starts
    status: int = import_module(module).main()
    return status


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1], sys.argv[2:]))
