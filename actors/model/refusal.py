"""Why a container cannot be configured as its pod asks.

It is shown as `CreateContainerConfigError` (spec 3.7).
"""

from __future__ import annotations


class ContainerRefusedError(ValueError):
    """`path` is the place in the pod; `reason` says what is wrong and what to do.

    A place is like `$.spec.containers[0].env[2]`.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class NonRootRefusedError(ContainerRefusedError):
    """A container may run as root, which its pod forbids.

    The text is upstream's; it names pod and container.
    """

    def __str__(self) -> str:
        return self.reason
