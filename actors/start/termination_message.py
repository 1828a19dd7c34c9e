"""What a container says of its own end: where it writes it, and how much of it is read (spec 3.8). Pure.

The file of an attempt has one fixed name, so that making a container a second time after the agent was killed finds the
same file, and no attempt reads what another has written.
"""

from __future__ import annotations

from actors.model.observed import ObservedContainer
from config.objects import Pod

MESSAGE_LIMIT_BYTES = 4096
POD_LIMIT_BYTES = 12 * 1024
"""All messages of a pod together: its status has to fit into the API (spec 4.5)."""
LOG_TAIL_LINES = 80
LOG_TAIL_BYTES = 2048


def termination_file(root_directory: str, uid: str, container: str, attempt: int) -> str:
    """On the host; `root_directory` is the agent's."""
    return f"{root_directory.rstrip('/')}/pods/{uid}/containers/{container}/{attempt & 0xFFFFFFFF:08x}"


def message_limit_bytes(pod: Pod) -> int:
    """How much is read of the message of one container of this pod."""
    spec = pod.spec
    containers = len(spec.init_containers) + len(spec.containers) + len(spec.ephemeral_containers)
    return min(MESSAGE_LIMIT_BYTES, POD_LIMIT_BYTES // max(1, containers))


def falls_back_to_log(container: ObservedContainer) -> bool:
    """Whether the end of the log stands in for a message that was not written: only of what failed after it ran."""
    return (
        container.termination_policy == "FallbackToLogsOnError"
        and container.exited
        and container.exit_code != 0
        and container.reason != "ContainerCannotRun"
    )


def joined_message(of_runtime: str, of_container: str) -> str:
    """Both, the runtime's first."""
    return f"{of_runtime}: {of_container}" if of_runtime and of_container else of_runtime or of_container
