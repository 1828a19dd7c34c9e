"""CheckpointContainer: refused, as containerd 1.6 refuses it; there is no process whose memory could be written."""

from __future__ import annotations

from typing import NoReturn

from runtime.cri.errors import StatusCode
from runtime.cri.messages import CheckpointContainerRequest
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal


def checkpoint_container(runtime: Runtime, request: CheckpointContainerRequest) -> NoReturn:
    raise CriRefusal(StatusCode.UNIMPLEMENTED, "simulated containers have no memory to write down")
