"""Processes of actorlet's own: Python in isolated mode, with the floors first on its path.

The floors have common names (`config`, `simulation`, ...), and so have folders of other projects. So a user's process
imports no floor, and actorlet's processes look neither in the working directory, nor in `PYTHONPATH`, nor in the user's
site-packages (`python -I`). This file runs as a script there; everything at its top is of the standard library.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def command(module: str, *arguments: str) -> list[str]:
    """The command line of a process that runs `main()` of a module of the floors, such as `cli.main`."""
    no_bytecode = ["-B"] if sys.dont_write_bytecode else []
    return [sys.executable, "-I", *no_bytecode, os.path.join(_PACKAGE, "_process.py"), module, *arguments]


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
    status: int = import_module(module).main()
    return status


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1], sys.argv[2:]))
