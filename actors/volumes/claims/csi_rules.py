"""The inputs of a storage driver, and the conditions for calling it (spec 8.8). Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import msgspec

from config.objects import CSIDriver, CSIServiceAccountTokenRequest, Node, Pod, VolumeAttachment
from config.values.api_time import api_time
from runtime.cri.errors import StatusCode
from runtime.volumes.csi_material import WITH_FS_TYPE

PREFIX = "csi.storage.k8s.io"
TOKENS = f"{PREFIX}/serviceAccount.tokens"
PERSISTENT = "Persistent"
EPHEMERAL = "Ephemeral"
DEFAULT_SECONDS = 3600
ATTACHES_NOTHING = "attaching volumes from the kubelet is not supported"
"""A kubelet's words where no controller is to attach: it creates no VolumeAttachment either."""


class DriverRules(msgspec.Struct, frozen=True):
    """The rules in the CSIDriver object; the defaults apply without one."""

    known: bool = False
    attach: bool = True
    pod_info: bool = False
    republish: bool = False
    fs_group_policy: str = WITH_FS_TYPE
    lifecycles: tuple[str, ...] = (PERSISTENT,)
    tokens: tuple[CSIServiceAccountTokenRequest, ...] = ()
    tokens_in_secrets: bool = False
    selinux_mount: bool = False
    limit_changes: bool = False
    """How many volumes fit on a node may change (`nodeAllocatableUpdatePeriodSeconds`)."""


def rules_of(driver: CSIDriver | None) -> DriverRules:
    """The rules in a CSIDriver object; the defaults for None."""
    if driver is None:
        return DriverRules()
    spec = driver.spec
    return DriverRules(
        known=True,
        attach=spec.attach_required is not False,
        pod_info=bool(spec.pod_info_on_mount),
        republish=bool(spec.requires_republish),
        fs_group_policy=spec.fs_group_policy or WITH_FS_TYPE,
        lifecycles=spec.volume_lifecycle_modes or (PERSISTENT,),
        tokens=spec.token_requests,
        tokens_in_secrets=bool(spec.service_account_token_in_secrets),
        selinux_mount=bool(spec.se_linux_mount),
        limit_changes=bool(spec.node_allocatable_update_period_seconds),
    )


def lifecycle_refusal(name: str, rules: DriverRules, *, ephemeral: bool) -> str:
    """Why the driver does not serve volumes of that lifecycle mode; empty when it does."""
    if ephemeral and not rules.known:
        return f'volume mode "Ephemeral" not supported by driver {name} (no CSIDriver object)'
    mode = EPHEMERAL if ephemeral else PERSISTENT
    if rules.known and mode not in rules.lifecycles:
        return f'volume mode "{mode}" not supported by driver {name} (only supports {", ".join(rules.lifecycles)})'
    return ""


def ephemeral_handle(pod: Pod, volume_name: str) -> str:
    """The handle of a volume that is made for one pod."""
    return f"csi-{_digest(pod.metadata.uid + volume_name)}"


def attachment_name(driver: str, handle: str, node_name: str) -> str:
    """The name of the VolumeAttachment of a volume and a node."""
    return f"csi-{_digest(handle + driver + node_name)}"


def attach_wait(node: Node | None, unique_name: str, volume: str) -> str:
    """The reason why the node's status does not allow the use of the volume yet, or "" (spec 8.4).

    It must first list the volume as in use, so that nobody detaches it, and then as attached.
    """
    status = node.status if node is not None else None
    if status is None or unique_name not in status.volumes_in_use:
        return f'volume "{volume}" has not been added to the list of volumesInUse in the node\'s status'
    if not any(each.name == unique_name for each in status.volumes_attached):
        return f'volume "{volume}" is not attached yet according to the node\'s status'
    return ""


def attachment_wait(attachment: VolumeAttachment, volume: str) -> str:
    """Why an attachment cannot be used; empty when it can."""
    name, status = attachment.metadata.name, attachment.status
    if attachment.metadata.deletion_timestamp is not None:
        return f'volume "{volume}" is being detached: VolumeAttachment {name} is being deleted'
    if status is None or not status.attached:
        error = status.attach_error if status is not None else None
        if error is not None and error.message:
            return f'volume "{volume}" cannot be attached: {error.message}'
        return f'volume "{volume}" is not attached yet: VolumeAttachment {name} does not say so'
    return ""


def is_exhausted(attachment: VolumeAttachment) -> bool:
    """Whether the volume cannot be attached because the node has too many."""
    error = attachment.status.attach_error if attachment.status is not None else None
    return error is not None and error.error_code == StatusCode.RESOURCE_EXHAUSTED


def pod_info(pod: Pod, *, ephemeral: bool) -> dict[str, str]:
    """The pod information for drivers with podInfoOnMount."""
    return {
        f"{PREFIX}/pod.name": pod.metadata.name,
        f"{PREFIX}/pod.namespace": pod.metadata.namespace,
        f"{PREFIX}/pod.uid": pod.metadata.uid,
        f"{PREFIX}/serviceAccount.name": pod.spec.service_account_name or "default",
        f"{PREFIX}/ephemeral": "true" if ephemeral else "false",
    }


class IssuedToken(msgspec.Struct, frozen=True):
    """A token, and when it expires by the clock of the API server (ns since 1970)."""

    text: str
    expires_wall_ns: int


def tokens_text(tokens: Mapping[str, IssuedToken]) -> str:
    """Tokens by audience, in the JSON that drivers read."""
    told = {
        audience: {"token": token.text, "expirationTimestamp": api_time(token.expires_wall_ns) or ""}
        for audience, token in sorted(tokens.items())
    }
    return json.dumps(told, separators=(",", ":"))


def seconds_of(request: CSIServiceAccountTokenRequest) -> int:
    """The requested lifetime of a token in seconds."""
    return request.expiration_seconds or DEFAULT_SECONDS


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
