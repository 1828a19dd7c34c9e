"""Words before a command that let the program end when this process does, even by SIGKILL.

The kernel can send a signal to a program when its parent ends (PR_SET_PDEATHSIG). The program has to ask for that
itself. Python cannot do so safely between fork and exec of a process with threads, so `setpriv` of util-linux does. For
the kernel the parent is the thread that started the program. So use it where that thread lives as long as the process,
as that of `LoopThread` does. Children of the program are not ended, nor a program that changes its user.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

TRY_S = 10.0


@cache
def ending_with_us() -> tuple[str, ...]:
    """The words; () where the node has no `setpriv` that can do it.

    The first call runs a program, so make it at the start.
    """
    tool = shutil.which("setpriv")
    if tool is None:
        return ()
    words = (tool, "--pdeathsig", "KILL", "--")
    try:
        tried = subprocess.run([*words, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=TRY_S)
    except (OSError, subprocess.SubprocessError):
        return ()
    return words if tried.returncode == 0 else ()
