"""Sandboxes whose network can never be taken down: a power cut has torn what CNI kept of it. Pure.

libcni writes its results without fsync, and containerd fails at each stop of a sandbox whose result is torn. It takes
the network down last, so nothing of such a sandbox runs. Its network stays until somebody removes the files.
"""

from __future__ import annotations

CNI_RESULTS = "/var/lib/cni/results"
_NETWORK, _RESULT = "failed to destroy network for sandbox", "cached result: "
_TORN = ("unexpected end of JSON input", "invalid character")
"""In the words of containerd."""


def has_torn_network(failure: Exception) -> bool:
    """Whether the stop, or the removal, of a sandbox has failed for that."""
    text = str(failure)
    return _NETWORK in text and _RESULT in text and any(sign in text for sign in _TORN)


def with_way_out(failure: Exception) -> str:
    """The failure, and what a person has to do about it if the agent cannot go on alone."""
    if has_torn_network(failure):
        return f"{failure}; a power cut has torn what CNI had kept: remove the files of this sandbox in {CNI_RESULTS}"
    return str(failure)
