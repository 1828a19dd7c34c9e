"""Settings of the agent's own process (spec 10.6): a low OOM score, and many open files.

Neither function raises: an agent without the rights for it logs the reason and runs.
"""

from __future__ import annotations

import resource

from runtime.host.kernel_parameters import write_setting


def set_oom_score(adjustment: int, path: str = "/proc/self/oom_score_adj") -> str:
    """Set the OOM score adjustment of the agent. Returns why that was not possible, or empty.

    Only a process that may manage the machine's resources (mostly root) may lower the value it was given.
    """
    return write_setting(path, f"{adjustment}\n")


def allow_open_files(wanted: int) -> str:
    """Raise the limit of open files. Returns why that was not possible, or empty. Never lowers the limit."""
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
