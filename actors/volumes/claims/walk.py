"""A part of `ClaimResolverActor`: resolves one claimed volume, object by object (spec 8.3).

The walk reads the claim, the persistent volume, its driver, its attachment and its secrets. It returns a `Draft`, or
raises a `ClaimWait` that says what is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from actors.kernel import Actor, ActorRef
from actors.messages.claims import VolumeWait
from actors.messages.island import ObjectSeen
from actors.volumes.claims import csi_rules
from actors.volumes.claims import rules as claim_rules
from actors.volumes.claims.csi_rules import DriverRules
from config.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, SECRETS, VOLUME_ATTACHMENTS
from config.api.secret_data import secret_bytes
from config.documents.codec import DocumentError
from config.frozen_map import FrozenMap
from config.objects import (
    CSIDriver,
    CSIPersistentVolumeSource,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    SecretReference,
    Volume,
)
from config.pods.identity import is_critical
from config.pods.in_tree_volumes import driven_volume
from config.pods.volume_sources import VOLUME_SOURCES, json_name_of, kind_of, source_of
from runtime.api import Api, ApiCall, ApiError, get, in_turn_of
from runtime.volumes.capability import VolumeFailedError, VolumeSpec
from runtime.volumes.csi_material import CsiMaterial, Expansion
from runtime.volumes.scsi.attaching import attached_name, chap_secret
from runtime.volumes.scsi.iscsi_target import IscsiMaterial

SECOND_NS = 1_000_000_000
CALL_NS = 10 * SECOND_NS
ALONE_NS = 2 * SECOND_NS
"""The limit of a call while the API server is away and the object may be remembered."""
ATTACH_NS = 20 * SECOND_NS
"""An attachment that takes longer becomes an event."""
FULL_NS = 123 * SECOND_NS
"""How long a kubelet waits for an attachment before it refuses a pod for which the node has no room."""
ATTACHING = "FailedAttachVolume"
NOTHING_WRONG = ""
K = TypeVar("K")

Grown = Callable[[PersistentVolumeClaim, str, Expansion], None]
"""Reports the outcome of a growth: (claim, requested size as text, outcome)."""


class Place(NamedTuple):
    """Where an object is in the API."""

    kind: str
    namespace: str
    name: str


def place_of(value: PersistentVolumeClaim | PersistentVolume) -> Place:
    return Place(type(value).__name__, value.metadata.namespace, value.metadata.name)


NOTHING_REMEMBERED: FrozenMap[Place, PersistentVolumeClaim | PersistentVolume] = FrozenMap()


class ClusterFacts(msgspec.Struct, frozen=True):
    """Facts that all pods share.

    `drivers` None: the CSIDriver objects are unknown; `trouble`: why reading failed. `remembered`: what an island node
    knows of claims and volumes, by place, while the API server is away.
    """

    node: Node | None = None
    drivers: FrozenMap[str, CSIDriver] | None = None
    trouble: str = ""
    remembered: FrozenMap[Place, PersistentVolumeClaim | PersistentVolume] = NOTHING_REMEMBERED


class ClaimWait(Exception):  # noqa: N818 - not an error: it may pass
    """The volume cannot be made yet."""

    def __init__(self, text: str, reason: str = "FailedMount", in_use: str = "", *, full: bool = False) -> None:
        super().__init__(text)
        self.wait = VolumeWait(text, reason, in_use, full)


class Draft(NamedTuple):
    """A resolved volume; some drivers still need the tokens of the pod."""

    spec: VolumeSpec
    rules: DriverRules


class ClaimWalk:
    """See the module.

    `actor` awaits the API calls. `grown` receives the outcome of a growth. `full` receives the name of a driver that
    has reached its volume limit on this node. `controller_attaches`: `enableControllerAttachDetach`. `island`: who
    remembers claims and volumes; None: nobody.
    """

    def __init__(
        self,
        actor: Actor,
        api: Api,
        node_name: str,
        *,
        grown: Grown,
        full: Callable[[str], None],
        controller_attaches: bool = True,
        island: ActorRef | None = None,
    ) -> None:
        self._actor = actor
        self._island = island
        self._api = api
        self._node_name = node_name
        self._grown = grown
        self._full = full
        self._controller_attaches = controller_attaches
        self.facts = ClusterFacts()
        self._attaching: dict[str, int] = {}
        """Volume -> since when (monotonic ns) its attachment is awaited."""

    async def draft(self, pod: Pod, volume: Volume, field_path: str) -> Draft:
        """Raises ClaimWait, ApiError."""
        name = claim_rules.claim_name(pod, volume)
        if not name:
            disk = driven_volume(volume, pod.metadata.namespace)
            if kind_of(volume).attached:
                return await self._on_bus(pod, claim_rules.own_spec_of(pod, volume, field_path))
            if disk is None:
                return await self._inline(pod, volume, field_path)
            return await self._driven(pod, claim_rules.spec_of(volume, field_path, None, disk))
        namespace = pod.metadata.namespace
        what = f'persistentvolumeclaim "{name}" not found'
        claim = await self._read(pod, get(PERSISTENT_VOLUME_CLAIMS, namespace, name), what)
        insist(claim_rules.claim_refusal(pod, volume, claim))
        bound = claim.spec.volume_name or ""
        persistent = await self._read(pod, get(PERSISTENT_VOLUMES, "", bound), f'persistentvolume "{bound}" not found')
        insist(claim_rules.volume_refusal(claim, persistent))
        spec = claim_rules.spec_of(volume, field_path, claim, persistent)
        if not spec.source:
            other = json_name_of(source_of(persistent.spec)) or "none"
            raise ClaimWait(f"PV {bound} is of type {other} ($.spec.{other}), which this node does not serve")
        insist(claim_rules.mode_refusal(pod, volume, block=spec.block))
        insist(claim_rules.place_refusal(persistent, self._node_name, self._labels()))
        insist(claim_rules.options_refusal(persistent, spec.source))
        if VOLUME_SOURCES[spec.source].attached:
            return await self._on_bus(pod, spec)
        if spec.source != "csi":
            return Draft(msgspec.structs.replace(spec, version=digest_of(spec)), DriverRules())
        return await self._driven(pod, spec)

    async def _on_bus(self, pod: Pod, spec: VolumeSpec) -> Draft:
        """Resolve a disk that the node's own tools reach. Attaching it keeps other nodes from using it."""
        try:
            in_use = attached_name(spec)
        except VolumeFailedError as failure:
            raise ClaimWait(str(failure)) from None
        spec = msgspec.structs.replace(spec, in_use=in_use)
        if self._controller_attaches:
            reason, _ = self._patience(spec)
            if wait := csi_rules.attach_wait(self.facts.node, in_use, spec.name):
                raise ClaimWait(wait, reason, in_use)
            del self._attaching[spec.name]
        try:
            secrets = await self._secret(pod, chap_secret(spec, pod.metadata.namespace))
        except ClaimWait as missing:
            raise ClaimWait(missing.wait.text, in_use=in_use) from None
        material = IscsiMaterial(secrets=secrets) if secrets else None
        return Draft(msgspec.structs.replace(spec, version=digest_of(spec), material=material), DriverRules())

    async def _driven(self, pod: Pod, spec: VolumeSpec) -> Draft:
        """A persistent volume of a storage driver."""
        persistent, claim = spec.persistent, spec.claim
        assert persistent is not None, "it was made of one"
        source = persistent.spec.csi
        assert source is not None, "it was chosen for that"
        rules = self._rules(source.driver)
        insist(csi_rules.lifecycle_refusal(source.driver, rules, ephemeral=False))
        spec = msgspec.structs.replace(
            spec, in_use=claim_rules.unique_name(source.driver, source.volume_handle) if rules.attach else ""
        )
        attachment, context = await self._attachment(pod, spec, source, rules) if rules.attach else ("", {})
        grow_to = claim_rules.wanted_growth(claim, persistent) if claim is not None else 0
        wanted, grown = persistent.spec.capacity.get(claim_rules.STORAGE, ""), self._grown
        material = CsiMaterial(
            driver=source.driver,
            handle=source.volume_handle,
            fs_type=source.fs_type or "",
            attributes=source.volume_attributes,
            pod_attributes=csi_rules.pod_info(pod, ephemeral=False) if rules.pod_info else {},
            publish_context=context,
            attachment=attachment,
            stage_secrets=await self._secret(pod, source.node_stage_secret_ref),
            publish_secrets=await self._secret(pod, source.node_publish_secret_ref),
            expand_secrets=await self._secret(pod, source.node_expand_secret_ref) if grow_to else {},
            fs_group_policy=rules.fs_group_policy,
            republish=rules.republish,
            selinux_mount=rules.selinux_mount,
            expand_bytes=grow_to,
            expanded=(lambda outcome: grown(claim, wanted, outcome)) if claim and grow_to else None,
            node=self._node_name,
        )
        return Draft(msgspec.structs.replace(spec, material=material), rules)

    async def _inline(self, pod: Pod, volume: Volume, field_path: str) -> Draft:
        """A volume that a driver makes for this pod."""
        source = volume.csi
        assert source is not None, "whoever asks has looked at its kind"
        rules = self._rules(source.driver)
        insist(csi_rules.lifecycle_refusal(source.driver, rules, ephemeral=True))
        reference, namespace = source.node_publish_secret_ref, pod.metadata.namespace
        secret = SecretReference(name=reference.name, namespace=namespace) if reference is not None else None
        info = csi_rules.pod_info(pod, ephemeral=True) if rules.pod_info else {}
        material = CsiMaterial(
            driver=source.driver,
            handle=csi_rules.ephemeral_handle(pod, volume.name),
            ephemeral=True,
            fs_type=source.fs_type or "",
            attributes=source.volume_attributes,
            pod_attributes=info,
            publish_secrets=await self._secret(pod, secret),
            fs_group_policy=rules.fs_group_policy,
            republish=rules.republish,
            node=self._node_name,
        )
        spec = VolumeSpec(
            name=volume.name,
            volume=volume,
            source="csi",
            field_path=field_path,
            read_only=bool(source.read_only),
            material=material,
        )
        return Draft(spec, rules)

    async def _attachment(
        self, pod: Pod, spec: VolumeSpec, source: CSIPersistentVolumeSource, rules: DriverRules
    ) -> tuple[str, Mapping[str, str]]:
        """Name of the attachment to this node, and its metadata for the driver. Raises ClaimWait.

        Attaching takes a while; the wait has a warning reason only after `ATTACH_NS`. A controller that cannot attach
        writes its error into the attachment, never into the node. So after `ATTACH_NS` the attachment is always read.
        """
        if not self._controller_attaches:
            raise ClaimWait(csi_rules.ATTACHES_NOTHING, ATTACHING, spec.in_use)
        reason, since_ns = self._patience(spec)
        node_wait = csi_rules.attach_wait(self.facts.node, spec.in_use, spec.name)
        if node_wait and since_ns < ATTACH_NS:
            raise ClaimWait(node_wait, reason, spec.in_use)
        name = csi_rules.attachment_name(source.driver, source.volume_handle, self._node_name)
        try:
            missing = f"there is no VolumeAttachment {name}"
            attachment = await self._read(pod, get(VOLUME_ATTACHMENTS, "", name), missing)
        except ClaimWait as absent:
            raise ClaimWait(node_wait or absent.wait.text, reason, spec.in_use) from None
        wait = csi_rules.attachment_wait(attachment, spec.name)
        if wait:
            error = attachment.status.attach_error if attachment.status is not None else None
            full = csi_rules.is_exhausted(attachment)
            if full:
                self._full(source.driver)
            refused = full and rules.limit_changes and since_ns >= FULL_NS
            raise ClaimWait(wait, reason if error is None else ATTACHING, spec.in_use, full=refused)
        if node_wait:
            raise ClaimWait(node_wait, reason, spec.in_use)
        del self._attaching[spec.name]
        return name, attachment.status.attachment_metadata if attachment.status is not None else {}

    def _patience(self, spec: VolumeSpec) -> tuple[str, int]:
        """The reason of the event for a wait, and for how long (ns) the volume has waited to be attached."""
        now_ns = self._actor.now_ns()
        since_ns = now_ns - self._attaching.setdefault(spec.name, now_ns)
        return NOTHING_WRONG if since_ns < ATTACH_NS else ATTACHING, since_ns

    async def _secret(self, pod: Pod, reference: SecretReference | None) -> Mapping[str, str]:
        """The texts in a secret. Raises ClaimWait."""
        if reference is None or not reference.name:
            return {}
        namespace = reference.namespace or ""
        what = f'secret "{namespace}/{reference.name}" not found'
        secret = await self._read(pod, get(SECRETS, namespace, reference.name), what)
        try:
            values = secret_bytes(secret)
        except DocumentError as failure:
            raise ClaimWait(f'secret "{namespace}/{reference.name}" cannot be read: {failure}') from None
        return {name: value.decode("utf-8", "replace") for name, value in values.items()}

    async def _read(self, pod: Pod, call: ApiCall[K], missing: str) -> K:
        """Read one object in the pod's turn. Raises ApiError, DeadlineExceededError.

        Raises ClaimWait with the text `missing` if the object does not exist.
        """
        call = in_turn_of(call, pod.metadata.uid, urgent=is_critical(pod))
        limit_ns = ALONE_NS if self.facts.remembered else CALL_NS
        try:
            read = await self._actor.wait(
                self._api.call(call, timeout_ns=limit_ns), timeout_ns=2 * limit_ns, what=call.verb
            )
        except ApiError as failure:
            if failure.not_found:
                raise ClaimWait(missing) from None
            known = self._remembered(call) if failure.outcome_unknown else None
            if known is None:
                raise
            return known
        if self._island is not None and isinstance(read, PersistentVolumeClaim | PersistentVolume):
            self._island.tell(ObjectSeen(*place_of(read), read))
        return read

    def _remembered(self, call: ApiCall[K]) -> K | None:
        kind = call.kind
        if kind is None:
            return None
        known: Any = self.facts.remembered.get(Place(kind.__name__, call.namespace, call.name))
        return cast(K, known) if isinstance(known, kind) else None

    def _rules(self, driver: str) -> DriverRules:
        drivers = self.facts.drivers
        if drivers is None:
            raise ClaimWait(self.facts.trouble or f"the CSIDriver object of {driver} has not been read yet")
        return csi_rules.rules_of(drivers.get(driver))

    def _labels(self) -> Mapping[str, str]:
        node = self.facts.node
        if node is None:
            raise ClaimWait("the Node object of this node is not known yet")
        return node.metadata.labels


def insist(refusal: str) -> None:
    if refusal:
        raise ClaimWait(refusal)


def digest_of(spec: VolumeSpec, *more: Any) -> bytes:
    """A digest of everything that a volume is made from: a new digest means a new version of the volume."""
    material = spec.material
    plain: Any = None
    if isinstance(material, CsiMaterial):
        plain = [str(getattr(material, name)) for name in material.__struct_fields__ if name != "expanded"]
    source = spec.persistent.spec if spec.persistent is not None else None
    told = msgspec.json.encode([spec.read_only, spec.block, spec.access_modes, spec.mount_options, plain, source, more])
    return hashlib.blake2b(told, digest_size=16).digest()
