"""Which devices a pod gets, container by container (spec 10.11). Pure.

A container takes first what init containers before it have left, then what is near the chosen NUMA nodes, then what is
left. What a plugin prefers is a wish: `preferred` follows it where the wish breaks none of these rules.

Nothing is given before all is found. A device that was decided on for one pod is in the book at once, whether or not
its plugin has answered; so no other pod gets it (kubernetes/kubernetes#137534).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from actors.model.devices import NO_DEVICES, DeviceBook, HeldDevices, Offer, PodDevices, held_ids
from actors.resources.devices.near import by_distance, device_hints
from actors.resources.devices.wanted import device_wants, plugins_of
from actors.resources.peaks import peak
from actors.resources.topology.hints import Hints
from actors.resources.topology.masks import NodeMask
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.device_plugins.capability import Device

UNEXPECTED = "UnexpectedAdmissionError"


class DeviceSearch:
    """What is left while one container of a pod after the other is served. Raises QuantityError.

    `book`: without the pod itself. Containers have to be served in the order in which they start.
    """

    def __init__(self, offers: Mapping[str, Offer], book: DeviceBook, pod: Pod) -> None:
        self._offers = offers
        names = plugins_of(pod, offers)
        self._wants = {want.name: want for want in device_wants(pod.spec)} if names else {}
        self._taken = {name: held_ids(book, name) for name in names}
        self._reusable: dict[str, frozenset[str]] = {name: frozenset() for name in names}
        self._found: dict[str, FrozenMap[str, HeldDevices]] = {}

    @property
    def containers(self) -> tuple[str, ...]:
        """The names of all containers, in the order to serve them; none if the pod asks for no device."""
        return tuple(self._wants)

    def hints_for(self, name: str | None, nodes: Collection[int]) -> list[tuple[str, Hints]]:
        """Each resource that the container asks for, or the pod (None), with its hints.

        `nodes`: those of the machine.
        """
        return [
            (each, device_hints(self._offers[each].devices, self._free(each), self._reusable[each], amount, nodes))
            for each, amount in (self._peaks() if name is None else self._wanted(name))
        ]

    def take_all(self) -> Rejected | None:
        """Give each container its devices, near whatever nodes."""
        refusals = (self.take(name, None) for name in self.containers)
        return next((refused for refused in refusals if refused is not None), None)

    def take(self, name: str, mask: NodeMask | None) -> Rejected | None:
        """Give the container its devices, or say why that is not possible."""
        got: dict[str, HeldDevices] = {}
        for resource, amount in self._wanted(name):
            refusal = self._refusal(resource, amount)
            if refusal:
                return unexpected(refusal)
            got[resource] = held = HeldDevices(self._choose(resource, amount, mask))
            ids = frozenset(held.ids)
            self._taken[resource] |= ids
            reusable = self._reusable[resource]
            self._reusable[resource] = reusable | ids if self._wants[name].ends_first else reusable - ids
        if got:
            self._found[name] = FrozenMap(got)
        return None

    def found(self) -> PodDevices:
        """What the pod gets."""
        return FrozenMap(self._found)

    def _peaks(self) -> list[tuple[str, int]]:
        """The most of each resource that the pod has at one time."""
        return [
            (resource, peak((want.ends_first, want.amounts.get(resource, 0)) for want in self._wants.values()))
            for resource in self._taken
        ]

    def _wanted(self, name: str) -> list[tuple[str, int]]:
        amounts = self._wants[name].amounts
        return [(resource, amount) for resource, amount in amounts.items() if resource in self._offers]

    def _free(self, resource: str) -> frozenset[str]:
        healthy = frozenset(each.id for each in self._offers[resource].devices if each.healthy)
        return healthy - self._taken[resource]

    def _refusal(self, resource: str, amount: int) -> str:
        """A kubelet's words for what is missing, or empty."""
        offer = self._offers[resource]
        if not offer.connected:
            return f"no healthy devices present; cannot allocate unhealthy devices {resource}"
        if not any(each.healthy for each in offer.devices):
            return f"no healthy devices present; cannot allocate unhealthy devices {resource}"
        free, more = self._free(resource), max(0, amount - len(self._reusable[resource]))
        if len(free) < more:
            left = f"Requested: {more}, Available: {len(free)}"
            return f"requested number of devices unavailable for {resource}. {left}"
        return ""

    def _choose(self, resource: str, amount: int, mask: NodeMask | None) -> tuple[Device, ...]:
        devices, reusable, free = self._offers[resource].devices, self._reusable[resource], self._free(resource)
        first = sorted((each for each in devices if each.id in reusable), key=lambda each: each.id)
        others = by_distance((each for each in devices if each.id in free), mask)
        return tuple([*first, *(each for some in others for each in some)][:amount])


NO_SEARCH = DeviceSearch({}, NO_DEVICES, Pod())
"""For pods without devices."""


def unexpected(why: str) -> Rejected:
    """The rejection of a pod whose devices cannot be had, in a kubelet's words."""
    return Rejected(UNEXPECTED, f"Allocate failed due to {why}, which is unexpected")


def preferred(
    offer: Offer,
    taken: Collection[str],
    held: HeldDevices,
    included: Collection[str],
    wish: Sequence[str],
    *,
    any_node: bool = False,
) -> HeldDevices:
    """The devices that the plugin wishes instead, or those held already.

    `taken`: by other containers. `included`: those left by init containers, which stay. A wish counts if it names as
    many devices, all of them there, healthy and free, and as many of them near each NUMA node. With `any_node` they may
    be near other nodes: there is no topology policy.
    """
    by_id = {each.id: each for each in offer.devices}
    ids = frozenset(wish)
    if len(ids) != len(held.devices) or not ids >= frozenset(included):
        return held
    if any(each not in by_id or each in taken or not by_id[each].healthy for each in ids - frozenset(held.ids)):
        return held
    wished = tuple(by_id[each] for each in dict.fromkeys(wish) if each in by_id)
    if len(wished) != len(ids) or not (any_node or _places(wished) == _places(held.devices)):
        return held
    return HeldDevices(wished)


def _places(devices: Sequence[Device]) -> list[tuple[int, ...]]:
    return sorted(each.nodes for each in devices)
