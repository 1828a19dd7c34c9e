"""The messages of the interface as values, and back. Pure. Texts of drivers are bounded here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.cri.errors import StatusCode
from runtime.dra.capability import (
    BELIEVED_NS,
    DEVICES_AT_MOST,
    ID_CHARACTERS_AT_MOST,
    MESSAGE_CHARACTERS_AT_MOST,
    ClaimDevice,
    ClaimRef,
    DeviceHealth,
    Health,
    Prepared,
)
from runtime.dra.v1 import dra_pb2 as messages
from runtime.dra.v1alpha1 import dra_health_pb2 as health_messages
from runtime.plugins.errors import PluginError

SECOND_NS = 10**9
_HEALTH = {1: Health.HEALTHY, 2: Health.UNHEALTHY}
_CUT = "..."


def claim_messages(claims: Sequence[ClaimRef]) -> list[Any]:
    """The claims of a request."""
    return [messages.Claim(namespace=each.namespace, uid=each.uid, name=each.name) for each in claims]


def prepared_in(answer: Any, claims: Sequence[ClaimRef]) -> Mapping[str, Prepared]:
    """What a driver answers of each claim.

    Raises PluginError for a claim that nobody asked for, and for what is beyond the limits.
    """
    _check_asked(answer.claims, claims, "NodePrepareResources")
    return {uid: _prepared(each) for uid, each in answer.claims.items()}


def unprepared_in(answer: Any, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
    """UID -> why the claim is still prepared, "" for done. Raises PluginError as `prepared_in` does."""
    _check_asked(answer.claims, claims, "NodeUnprepareResources")
    return {uid: each.error for uid, each in answer.claims.items()}


def prepared_message(prepared: Mapping[str, Prepared]) -> Any:
    """A `NodePrepareResourcesResponse`."""
    answer = messages.NodePrepareResourcesResponse()
    for uid, each in prepared.items():
        entry = answer.claims[uid]
        entry.error = each.error
        for device in each.devices:
            entry.devices.add(
                request_names=device.requests,
                pool_name=device.pool,
                device_name=device.device,
                cdi_device_ids=device.cdi,
                share_id=device.share or None,
            )
    return answer


def unprepared_message(errors: Mapping[str, str]) -> Any:
    """A `NodeUnprepareResourcesResponse`."""
    answer = messages.NodeUnprepareResourcesResponse()
    for uid, error in errors.items():
        answer.claims[uid].error = error
    return answer


def claims_in(request: Any) -> tuple[ClaimRef, ...]:
    """The claims that a request names."""
    return tuple(ClaimRef(each.namespace, each.name, each.uid) for each in request.claims)


def health_in(data: bytes) -> tuple[DeviceHealth, ...]:
    """The devices of a `NodeWatchResourcesResponse`.

    Raises PluginError for what cannot be read, or is too much.
    """
    try:
        answer = health_messages.NodeWatchResourcesResponse.FromString(data)
    except Exception as fault:  # protobuf's DecodeError
        raise _wrong(f"the health of its devices cannot be read: {fault}", "NodeWatchResources") from None
    if len(answer.devices) > DEVICES_AT_MOST:
        raise _wrong(f"it tells of {len(answer.devices)} devices at once, {DEVICES_AT_MOST} is the most", "health")
    return tuple(_health(each) for each in answer.devices)


def health_message(devices: Sequence[DeviceHealth]) -> Any:
    """A `NodeWatchResourcesResponse`."""
    answer = health_messages.NodeWatchResourcesResponse()
    for each in devices:
        answer.devices.add(
            device=health_messages.DeviceIdentifier(pool_name=each.pool, device_name=each.device),
            health=next((number for number, health in _HEALTH.items() if health is each.health), 0),
            last_updated_time=each.seen_s,
            health_check_timeout_seconds=each.believed_ns // SECOND_NS,
            message=each.message,
        )
    return answer


def _prepared(entry: Any) -> Prepared:
    if entry.error:
        return Prepared(error=entry.error)
    if len(entry.devices) > DEVICES_AT_MOST:
        text = f"a claim has {len(entry.devices)} devices, {DEVICES_AT_MOST} is the most"
        raise _wrong(text, "NodePrepareResources")
    return Prepared(tuple(_device(each) for each in entry.devices))


def _device(entry: Any) -> ClaimDevice:
    texts = (entry.pool_name, entry.device_name, entry.share_id, *entry.request_names, *entry.cdi_device_ids)
    if any(len(each) > ID_CHARACTERS_AT_MOST for each in texts):
        text = f"a name of a device has more than {ID_CHARACTERS_AT_MOST} characters"
        raise _wrong(text, "NodePrepareResources")
    return ClaimDevice(
        entry.pool_name, entry.device_name, tuple(entry.request_names), tuple(entry.cdi_device_ids), entry.share_id
    )


def _health(entry: Any) -> DeviceHealth:
    seconds = entry.health_check_timeout_seconds
    message = entry.message
    if len(message) > MESSAGE_CHARACTERS_AT_MOST:
        message = message[: MESSAGE_CHARACTERS_AT_MOST - len(_CUT)] + _CUT
    return DeviceHealth(
        entry.device.pool_name[:ID_CHARACTERS_AT_MOST],
        entry.device.device_name[:ID_CHARACTERS_AT_MOST],
        _HEALTH.get(entry.health, Health.UNKNOWN),
        entry.last_updated_time,
        seconds * SECOND_NS if seconds > 0 else BELIEVED_NS,
        message,
    )


def _check_asked(answered: Mapping[str, Any], claims: Sequence[ClaimRef], method: str) -> None:
    asked = {each.uid for each in claims}
    for uid in answered:
        if uid not in asked:
            raise _wrong(f"{method} returned result for unknown claim UID {uid[:ID_CHARACTERS_AT_MOST]}", method)


def _wrong(text: str, method: str) -> PluginError:
    return PluginError(StatusCode.INTERNAL, text, method)
