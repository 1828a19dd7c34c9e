"""Which static pods keep the UID under which the agent before runs them (spec 1.2). Pure.

A kubelet makes the UID of a static pod from Go's dump of its objects, this agent from the manifest. So after a change
of agents the same manifest would be another pod, and the running one would end. It keeps its UID instead if nothing
shows that the manifest has changed since that pod was made:

- its last sandbox has the same namespace, name, labels and annotations, and is of the same source. One that has ended
  counts, too: a pod that has succeeded does not run again;
- the file was not touched after that agent first saw the pod (`config.seen`): neither content nor inode;
- no container of it that runs is of another definition.

Who can fake this? Agents set `config.source` and the three labels themselves, over whatever the pod's author wrote. So
a pod of the API server never counts as static. A sandbox with other labels can be made only by root. A UID that is no
hash, as agents make them, is not taken: it becomes a part of paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from config.objects import Pod
from config.pods.identity import CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE, LOCAL_ANNOTATIONS, containers_by_name
from config.values.api_time import ns_of
from runtime.cri.identity import CONTAINER_NAME, POD_UID, pod_labels, same_definition
from runtime.cri.messages import Container, ContainerState, PodSandbox, PodSandboxState

_MADE_BY_AGENTS = re.compile("[0-9a-f]{32}")
_OWN_ANNOTATIONS = LOCAL_ANNOTATIONS | {CONFIG_HASH}


class Running(msgspec.Struct, frozen=True):
    """The sandboxes and containers in the runtime's lists."""

    sandboxes: tuple[PodSandbox, ...] = ()
    containers: tuple[Container, ...] = ()


def kept_uids(pods: Mapping[str, int], desired: Iterable[Pod], source: str, running: Running) -> dict[str, str]:
    """UID from the manifest -> UID that the pod keeps.

    `pods`: UIDs of the pods that may keep another one, and when their files were last touched, in nanoseconds.
    """
    found = ((pod, _kept(pod, source, pods[pod.metadata.uid], running)) for pod in desired if pod.metadata.uid in pods)
    return {pod.metadata.uid: uid for pod, uid in found if uid is not None}


def with_uid(pod: Pod, uid: str) -> Pod:
    """The same static pod under that UID."""
    meta = pod.metadata
    annotations = {**meta.annotations, CONFIG_HASH: uid}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(meta, uid=uid, annotations=annotations))


def _kept(pod: Pod, source: str, touched_ns: int, running: Running) -> str | None:
    """The UID of the pod's last sandbox in the runtime: a ready one before those that ended."""
    own = pod.metadata.uid
    sandboxes = [
        each for each in running.sandboxes if each.labels.get(POD_UID) == own or _fits(pod, source, touched_ns, each)
    ]
    if not sandboxes:
        return None
    uid = max(sandboxes, key=_lastness).labels[POD_UID]
    mine = (each for each in running.containers if each.labels.get(POD_UID) == uid)
    return uid if uid != own and all(_is_same(pod, each) for each in mine) else None


def _lastness(sandbox: PodSandbox) -> tuple[bool, int]:
    return sandbox.state == PodSandboxState.SANDBOX_READY, sandbox.created_at


def _fits(pod: Pod, source: str, touched_ns: int, sandbox: PodSandbox) -> bool:
    uid, annotations = sandbox.labels.get(POD_UID, ""), sandbox.annotations
    seen_ns = ns_of(annotations.get(CONFIG_SEEN))
    return (
        _MADE_BY_AGENTS.fullmatch(uid) is not None
        and annotations.get(CONFIG_HASH) == uid
        and annotations.get(CONFIG_SOURCE) == source
        and seen_ns is not None
        and touched_ns <= seen_ns
        and {**pod.metadata.labels, **pod_labels(pod), POD_UID: uid} == sandbox.labels
        and _of_author(pod.metadata.annotations) == _of_author(annotations)
    )


def _of_author(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key not in _OWN_ANNOTATIONS}


def _is_same(pod: Pod, running: Container) -> bool:
    if running.state != ContainerState.CONTAINER_RUNNING:
        return True
    wanted = containers_by_name(pod.spec).get(running.labels.get(CONTAINER_NAME, ""))
    return wanted is not None and same_definition(wanted, running.labels, running.annotations)
