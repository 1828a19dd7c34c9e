"""What the agent asks the kernel for itself (spec 10.6): to be the last that is killed for want of memory, and many
open files. Neither raises: an agent without the rights runs as well, and says so.
"""

from __future__ import annotations

import resource

from runtime.host.kernel_parameters import write_setting


def set_oom_score(adjustment: int, path: str = "/proc/self/oom_score_adj") -> str:
    """Set the adjustment of the agent's own score; why that was not possible, or empty.

    Only who may manage the machine's resources (root, mostly) may go below what the process was given.
    """
    return write_setting(path, f"{adjustment}\n")


def allow_open_files(wanted: int) -> str:
    """Let the agent have so many files open; why that was not possible, or empty. Never lowers what it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _at_least(soft, wanted):
        return ""
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard if _at_least(hard, wanted) else wanted))
    except (OSError, ValueError, OverflowError) as failure:
        return str(failure)
    return ""


def _at_least(limit: int, wanted: int) -> bool:
    return limit == resource.RLIM_INFINITY or limit >= wanted
