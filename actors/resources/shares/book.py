"""The node's book of shares: what is added, what goes back, and what is left for all. Pure."""

from __future__ import annotations

import msgspec

from actors.model.shares import PodShares, Share, ShareBook, exclusive_cpus
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import PodWants
from config.frozen_map import FrozenMap
from runtime.host.topology import MachineTopology


def shared_cpus(machine: MachineTopology, rules: ShareRules, book: ShareBook) -> frozenset[int]:
    """The CPUs of containers without CPUs for themselves.

    Those reserved for the system are among them, unless `strict-cpu-reservation` says otherwise.
    """
    taken = frozenset[int]().union(*map(exclusive_cpus, book.values()))
    if rules.cpus is not None and rules.cpus.strict:
        taken |= rules.cpus.reserved
    return machine.online - taken


def with_pod(book: ShareBook, uid: str, shares: PodShares) -> ShareBook:
    """The book with a pod that was admitted. A pod without shares needs no entry."""
    return book | {uid: shares} if shares.containers else book


def without_pod(book: ShareBook, uid: str) -> ShareBook:
    """The book after the end of a pod."""
    return FrozenMap({key: shares for key, shares in book.items() if key != uid})


def without_container(book: ShareBook, uid: str, name: str) -> ShareBook:
    """The book after one container has ended for good.

    CPUs that another container of the pod has as well stay with the pod. What the pod has as a whole goes with its last
    container.
    """
    shares = book.get(uid)
    if shares is None or name not in shares.containers:
        return book
    left = FrozenMap({key: share for key, share in shares.containers.items() if key != name})
    return book | {uid: msgspec.structs.replace(shares, containers=left)} if left else without_pod(book, uid)


def with_started(book: ShareBook, uid: str, wants: PodWants, name: str) -> ShareBook:
    """The book when a container starts: the init containers before it give back their memory.

    Their CPUs stay with the pod, as with a kubelet.
    """
    shares = book.get(uid)
    if shares is None:
        return book
    left = dict(shares.containers)
    for want in wants.containers:
        if want.name == name:
            break
        share = left.get(want.name)
        if share is not None and want.ends_first:
            left[want.name] = Share(share.cpus)
    kept = FrozenMap({key: share for key, share in left.items() if share.cpus or share.memory})
    return book | {uid: msgspec.structs.replace(shares, containers=kept)} if kept else without_pod(book, uid)
