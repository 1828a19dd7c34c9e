"""The container runtime interface: messages, verbs, errors and the capability.

Nothing here imports gRPC.

`runtime.cri.client` speaks it to a real runtime, `runtime.cri.server` serves it. `runtime.cri.identity` has the labels
and annotations by which a container is known again.
"""

from runtime.cri.capability import Cri
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.verbs import ALL_VERBS, Verb
