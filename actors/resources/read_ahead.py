"""What admission has to find out of a pod alone, found out by the pod's own worker.

The manager admits one pod after the other, and nobody is to wait because another pod is large. So each rule that walks
a pod is evaluated once for its spec (`config.pods.once_per_spec`), and the worker does it before it asks. The manager
finds the results. If they are gone, it finds out itself: the answer is the same.

An affinity depends on the labels of the node, which workers do not know (`actors.resources.affinities`).
"""

from __future__ import annotations

from contextlib import suppress

from actors.model.allocation import allocation_of
from actors.model.kubelet_records import record_of
from actors.resources.abilities import Abilities, apparmor_rejection, sysctl_rejection
from actors.resources.admission import MEMORY_TAINT
from actors.resources.devices.wanted import domain_resources
from config.objects import Pod
from config.pods.node_selection import is_long, tolerates
from config.pods.requests import has_domain_requests, host_port_sets, whole_limits
from config.values.quantity import QuantityError


def read_ahead(pod: Pod, abilities: Abilities) -> None:
    """Evaluate the rules that walk the pod."""
    with suppress(QuantityError):
        allocation_of(pod)
        whole_limits(pod.spec)
        if has_domain_requests(pod.spec):
            domain_resources(pod.spec)
    host_port_sets(pod.spec)
    record_of(pod.spec)
    sysctl_rejection(pod, abilities)
    apparmor_rejection(pod, abilities)
    tolerates(pod.spec, MEMORY_TAINT)
    is_long(pod.spec)
