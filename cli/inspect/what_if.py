"""`actorlet explain --what-if pod.yaml`: would this node take the pod now, and what would it give it?

The agent makes the document from what its owner of resources knows, with the functions of admission
(`actors.resources.what_if`). The pod is taken for one of the API server: a static pod would push others out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from actors.model.allocation import Allocation
from actors.model.devices import HeldDevices
from actors.model.shares import NOTHING, Share
from actors.node.node import NodeAgent
from actors.resources.shares.assigning import NamedHints
from actors.resources.topology.masks import nodes_of
from actors.resources.what_if import PODS_THAT_GO, KnownNode, WhoWouldGo, foresee, who_would_go
from config.documents.codec import DocumentError, from_builtins
from config.manifests import Origin, read_manifest, split_manifest
from config.objects import Pod
from config.pods.defaults import default_pod
from config.pods.identity import DEFAULT_NAMESPACE
from config.values.cpu_sets import format_cpu_set
from runtime.http_server.local_endpoint import Reply

UNKNOWN = "what the node has is not known yet: the agent is beginning, or busy; ask again"
UID = "what-if"
NO_DEVICES: Mapping[str, HeldDevices] = {}
TAKES, PREEMPTS, REFUSES, WAITS = "takes", "preempts", "refuses", "waits"


class Given(msgspec.Struct, frozen=True, rename="camel"):
    """What a container would have for itself. `cpus`: a list as of the kernel, such as `2-3,10`.

    `devices`: of plugins, which may prefer others.
    """

    container: str
    cpus: str
    memory: tuple[str, ...]
    devices: tuple[str, ...] = ()


class Fit(msgspec.Struct, frozen=True, rename="camel"):
    """On which NUMA nodes one resource could be had. `who`: the container; empty for the whole pod.

    `nodes`: the smallest groups of nodes. `preferred`: those that the policy would choose from. `excluded`: nodes that
    cannot have it alone.
    """

    who: str
    resource: str
    nodes: tuple[tuple[int, ...], ...]
    preferred: tuple[tuple[int, ...], ...]
    excluded: tuple[int, ...]


class WhatIf(msgspec.Struct, frozen=True, rename="camel"):
    """The answer. `verdict`: takes, preempts, refuses, or waits for device plugins, which `message` names.

    `reason` and `message`: as in the status of a refused pod. `preempts`: pods that would be ended for a critical one.
    `given`: containers with CPUs or memory for themselves; `shared_pool`: the CPUs of the others. `fits`: why the
    resources cannot be near to each other. `would_go`: the fewest pods without which the node takes it; if there are
    none, `nobody` says why.
    """

    pod: str
    verdict: str
    reason: str = ""
    message: str = ""
    preempts: tuple[str, ...] = ()
    given: tuple[Given, ...] = ()
    shared_pool: str = ""
    fits: tuple[Fit, ...] = ()
    would_go: tuple[str, ...] = ()
    nobody: str = ""


def asked(node: NodeAgent, manifest: bytes) -> Reply:
    """The answer of an agent to `/what-if`."""
    found = pod_in(manifest, node.plan.facts.name)
    if isinstance(found, str):
        return Reply(msgspec.json.encode({"error": found}), 422)
    known = node.known_node()
    if known is None:
        return Reply(msgspec.json.encode({"error": UNKNOWN}), 503)
    return Reply(msgspec.json.encode(what_if(found, known)))


def pod_in(manifest: bytes, node_name: str) -> Pod | str:
    """The one pod of a manifest, or the faults of the manifest, a line each."""
    read = read_manifest(manifest, Origin.file("pod"), node_name, prevent_api_references=False)
    if read.errors:
        return "\n".join(map(str, read.errors))
    pods = split_manifest(manifest)
    if len(pods) != 1:
        return f"the manifest has {len(pods)} pods; ask about one at a time"
    try:
        pod = default_pod(from_builtins(msgspec.json.decode(pods[0]), Pod))
    except DocumentError as error:
        return str(error)
    namespace = pod.metadata.namespace or DEFAULT_NAMESPACE
    metadata = msgspec.structs.replace(pod.metadata, uid=UID, namespace=namespace)
    return msgspec.structs.replace(pod, metadata=metadata)


def what_if(pod: Pod, known: KnownNode) -> WhatIf:
    """The document. Takes some seconds on a large node that refuses the pod."""
    foreseen, name = foresee(pod, known), f"{pod.metadata.namespace}/{pod.metadata.name}"
    if foreseen.victims:
        return WhatIf(name, PREEMPTS, preempts=_names(foreseen.victims))
    if foreseen.waits_for:
        return WhatIf(name, WAITS, message=" and ".join(foreseen.waits_for))
    if foreseen.refused is None:
        shares, devices = foreseen.shares.containers, foreseen.devices
        names = dict.fromkeys((*shares, *devices))
        given = tuple(_given(each, shares.get(each, NOTHING), devices.get(each, NO_DEVICES)) for each in names)
        return WhatIf(name, TAKES, given=given, shared_pool=format_cpu_set(foreseen.pool))
    go = who_would_go(pod, known)
    fits = tuple(_fit(each, known) for each in foreseen.hints if each.hints is not None)
    refused = foreseen.refused
    return WhatIf(
        name, REFUSES, refused.reason, refused.message, fits=fits, would_go=_names(go.pods), nobody=_nobody(go)
    )


def _nobody(go: WhoWouldGo) -> str:
    if go.pods:
        return ""
    if go.refused is not None:
        return f"the node without any pod refuses it, too: {go.refused.reason}: {go.refused.message}"
    if go.tried_all:
        return f"no {PODS_THAT_GO} pods are enough"
    return f"up to {PODS_THAT_GO} pods were looked for, and not all sets of them were tried: there are too many"


def _names(pods: tuple[Allocation, ...]) -> tuple[str, ...]:
    return tuple(f"{each.namespace}/{each.name}" for each in pods)


def _given(container: str, share: Share, devices: Mapping[str, HeldDevices]) -> Given:
    memory = (f"{each.size_bytes} bytes of {each.kind} on {_nodes(each.nodes)}" for each in share.memory)
    held = tuple(f"{', '.join(has.ids)} of {resource}" for resource, has in sorted(devices.items()))
    return Given(container, format_cpu_set(share.cpus), tuple(memory), held)


def _fit(named: NamedHints, known: KnownNode) -> Fit:
    hints = named.hints or {}
    smallest = [mask for mask in hints if not any(other & mask == other and other != mask for other in hints)]
    preferred = [mask for mask, is_preferred in hints.items() if is_preferred]
    excluded = tuple(node.number for node in known.machine.nodes if 1 << node.number not in hints)
    return Fit(named.who, named.resource, tuple(map(nodes_of, smallest)), tuple(map(nodes_of, preferred)), excluded)


# --- as text --------------------------------------------------------------------------------------------------------


def lines_of(told: WhatIf) -> Iterator[str]:
    """The document in words."""
    if told.verdict == PREEMPTS:
        yield f"{told.pod}: the node would take it, and end for it: {', '.join(told.preempts)}"
        return
    if told.verdict == WAITS:
        yield f"{told.pod}: it would wait for the device plugin of {told.message}"
        return
    if told.verdict == TAKES:
        yield f"{told.pod}: the node would take it"
        for each in told.given:
            cpus = [f"CPUs {each.cpus}"] if each.cpus else []
            yield f"  container {each.container}: {', '.join([*cpus, *each.memory, *each.devices])}"
        if told.shared_pool:
            yield f"  CPUs that all others share: {told.shared_pool}"
        return
    yield f"{told.pod}: the node would refuse it: {told.reason}: {told.message}"
    for fit in told.fits:
        who = f"container {fit.who}" if fit.who else "the pod"
        where = "; or ".join(map(_nodes, fit.nodes)) or "no NUMA nodes"
        no = f"; not on {_nodes(fit.excluded)} alone" if fit.excluded else ""
        yield f"  {fit.resource} of {who} fits on {where}{no}"
    if told.would_go:
        yield f"  it would fit without {' and '.join(told.would_go)}"
    else:
        yield f"  {told.nobody}"


def _nodes(numbers: tuple[int, ...]) -> str:
    return f"NUMA node{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
