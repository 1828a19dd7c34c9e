"""What the scheduler knows of claims, and where those of a pod can be met. Pure.

A pod with claims goes to a node that its allocated claims reach, and where the others find devices. The words of
refusals are a kube-scheduler's.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import msgspec

from simulation.allocation import extended
from simulation.allocation.offered import DeviceId, OfNode, Pool, in_selector, pools_of
from simulation.allocation.results import in_use, results_of
from simulation.allocation.search import Given, InUse, allocate
from simulation.allocation.selectors import Selectors
from simulation.allocation.wanted import UnmetError, WantedClaim, wanted
from simulation.controllers.scheduling import Offer

Json = Mapping[str, Any]
Key = tuple[str, str]
CANNOT_ALLOCATE = "cannot allocate all claims"
NOT_ON_NODE = "resourceclaim not available on the node"
IN_USE = "resourceclaim in use"
USERS_AT_MOST = 256
"""Pods that one claim may be reserved for."""


class NotMadeYetError(Exception):
    """A claim from a template is not there yet; the pod is not tried before."""


class PlannedClaim(msgspec.Struct, frozen=True):
    """A claim that gets devices.

    `key`: None for the claim that is made for extended resources, which has `mappings`.
    """

    key: Key | None
    spec: Json
    given: tuple[Given, ...]
    mappings: tuple[Json, ...] = ()


def claim_names(pod: Json) -> tuple[str | None, ...]:
    """The names of the pod's claims; None where one is to be made yet.

    Entries that need no claim are left out.
    """
    made = {
        each["name"]: each.get("resourceClaimName") or ""
        for each in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    }
    names = (
        each.get("resourceClaimName") or made.get(each["name"]) for each in pod["spec"].get("resourceClaims") or ()
    )
    return tuple(dict.fromkeys(name for name in names if name != ""))


class ClaimBooks:
    """See the module. Objects are put and removed as the store tells of them."""

    def __init__(self, selectors: Selectors) -> None:
        self._selectors = selectors
        self.classes: dict[str, Json] = {}
        self._backed: dict[str, str] | None = None
        self._claims: dict[Key, Json] = {}
        self._whole: dict[DeviceId, Key] = {}
        self._sharing: dict[Key, Json] = {}
        self._slices: dict[str, dict[str, Json]] = {}
        """By node, "" for those of no certain one."""
        self._pools: dict[str, tuple[OfNode, tuple[Pool, ...]]] = {}

    # --- what there is ----------------------------------------------------------------------------------------------

    def put_class(self, name: str, device_class: Json | None) -> None:
        """A class; None: it is gone."""
        self._backed = None
        if device_class is None:
            self.classes.pop(name, None)
        else:
            self.classes[name] = device_class

    def put_slice(self, name: str, resource_slice: Json | None) -> None:
        """A slice; None: it is gone."""
        for each in self._slices.values():
            each.pop(name, None)
        self._pools.clear()
        if resource_slice is not None:
            node = str(resource_slice["spec"].get("nodeName") or "")
            self._slices.setdefault(node, {})[name] = resource_slice

    def put_claim(self, key: Key, claim: Json | None) -> None:
        """A claim; None: it is gone."""
        before = self._claims.pop(key, None)
        self._sharing.pop(key, None)
        for device in map(_id_of, results_of(before) if before is not None else ()):
            if self._whole.get(device) == key:
                del self._whole[device]
        if claim is None:
            return
        self._claims[key] = claim
        found = in_use((claim,))
        self._whole |= dict.fromkeys(found.whole, key)
        if found.shares:
            self._sharing[key] = claim

    def claim(self, key: Key) -> Json | None:
        """The newest version of a claim."""
        return self._claims.get(key)

    # --- what a pod needs -------------------------------------------------------------------------------------------

    def of_pod(self, pod: Json) -> PodNeeds | None:
        """What the pod needs of its node because of claims; None without any.

        Raises NotMadeYetError, and UnmetError if no node can meet it.
        """
        if self._backed is None:
            self._backed = extended.by_resource(self.classes)
        resources = extended.asked(pod["spec"], self._backed)
        if not resources and not pod["spec"].get("resourceClaims"):
            return None
        namespace = str(pod["metadata"]["namespace"])
        allocated: list[Json] = []
        missing: list[tuple[Key, Json, WantedClaim]] = []
        for name in claim_names(pod):
            if name is None:
                raise NotMadeYetError
            claim = self._claims.get((namespace, name))
            if claim is None:
                raise UnmetError(f'resourceclaim.resource.k8s.io "{name}" not found')
            self._check(claim, pod)
            if (claim.get("status") or {}).get("allocation"):
                allocated.append(claim)
            else:
                read = wanted(f"{namespace}/{name}", claim["spec"], self.classes)
                missing.append(((namespace, name), claim["spec"], read))
        return PodNeeds(self, pod, allocated, missing, resources)

    def _check(self, claim: Json, pod: Json) -> None:
        metadata, name = claim["metadata"], claim["metadata"]["name"]
        if "deletionTimestamp" in metadata:
            raise UnmetError(f'resourceclaim "{name}" is being deleted')
        named = {each.get("resourceClaimName") for each in pod["spec"].get("resourceClaims") or ()}
        owners = [each["uid"] for each in metadata.get("ownerReferences") or () if each.get("controller")]
        uid = pod["metadata"]["uid"]
        if name not in named and uid not in owners:
            raise UnmetError(
                f'ResourceClaim {metadata["namespace"]}/{name} was not created for pod "{pod["metadata"]["name"]}"'
            )
        users = (claim.get("status") or {}).get("reservedFor") or ()
        if len(users) >= USERS_AT_MOST and uid not in (each.get("uid") for each in users):
            raise UnmetError(IN_USE)

    def backed(self) -> Mapping[str, str]:
        """Extended resource -> the class that backs it."""
        return self._backed or {}

    def given(self, claims: list[WantedClaim], node: OfNode) -> tuple[Given, ...] | None:
        """Devices for these claims on the node; None if they do not fit. Raises UnmetError."""
        return allocate(claims, self._pools_of(node), self._in_use(), self._selectors)

    def _in_use(self) -> InUse:
        return InUse(self._whole.keys(), in_use(self._sharing.values()).shares)

    def _pools_of(self, node: OfNode) -> tuple[Pool, ...]:
        known = self._pools.get(node.name)
        if known is None or known[0] != node:
            slices = [*self._slices.get("", {}).values(), *self._slices.get(node.name, {}).values()]
            known = self._pools[node.name] = node, pools_of(slices, node)
        return known[1]


class PodNeeds:
    """What a pod needs of its node because of claims. `resources`: extended ones that classes back."""

    def __init__(
        self,
        books: ClaimBooks,
        pod: Json,
        allocated: list[Json],
        missing: list[tuple[Key, Json, WantedClaim]],
        resources: frozenset[str],
    ) -> None:
        self._books = books
        self._pod = pod
        self._allocated = allocated
        self._missing = missing
        self.by_claims: Set[str] = resources

    @property
    def has_claims(self) -> bool:
        """Whether the pod names claims, or its status does."""
        return bool(self._allocated or self._missing)

    def refusal(self, offer: Offer) -> str:
        """Why the claims keep the pod from that node; "" if they do not."""
        node = OfNode(offer.name, offer.labels)
        for claim in self._allocated:
            selector = claim["status"]["allocation"].get("nodeSelector")
            if selector and not in_selector(selector, node):
                return NOT_ON_NODE
        try:
            return CANNOT_ALLOCATE if self.plan(offer) is None else ""
        except UnmetError as error:
            return str(error)

    def plan(self, offer: Offer) -> tuple[PlannedClaim, ...] | None:
        """What the claims get on the node; None if they do not fit. Raises UnmetError."""
        entries: list[tuple[Key | None, Json, WantedClaim, tuple[Json, ...]]]
        entries = [(key, spec, read, ()) for key, spec, read in self._missing]
        resources = frozenset(self.by_claims) - offer.amounts.keys()
        if resources:
            spec, mappings = extended.special_claim(self._pod["spec"], resources, self._books.backed())
            if mappings:
                read = wanted(f"{self._pod['metadata']['namespace']}/<extended-resources>", spec, self._books.classes)
                entries.append((None, spec, read, tuple(mappings)))
        if not entries:
            return ()
        given = self._books.given([read for _, _, read, _ in entries], OfNode(offer.name, offer.labels))
        if given is None:
            return None
        return tuple(
            PlannedClaim(key, spec, tuple(each for each in given if each.claim == number), mappings)
            for number, (key, spec, _, mappings) in enumerate(entries)
        )

    def allocated(self) -> list[Key]:
        """The claims that have devices already."""
        return [(str(each["metadata"]["namespace"]), str(each["metadata"]["name"])) for each in self._allocated]


def _id_of(result: Json) -> DeviceId:
    return DeviceId(result["driver"], result["pool"], result["device"])
