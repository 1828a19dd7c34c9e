"""What a request over HTTP asks for, read before the server answers it: its call, and the names in it."""

from __future__ import annotations

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.calls import ApiRequest, ResourceCall, call_of
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import StatusError


def call_in(server: ApiServer, asked: ApiRequest) -> ResourceCall | None:
    """The call; None for a request that the server will refuse to read."""

    def find(group: str, version: str, plural: str) -> ServedResource | None:
        wanted = (group, version, plural)
        return next((one for one in server.served if (one.group, one.version, one.plural) == wanted), None)

    try:
        return call_of(asked, find)
    except StatusError:
        return None


def resource_names(call: ResourceCall) -> tuple[str, str]:
    """Without and with its group, such as `deployments/scale` and `deployments.apps/scale`."""
    part = call.target.subresource
    rest = f"/{part}" if part else ""
    return call.resource.plural + rest, call.resource.group_resource + rest


def name_of(call: ResourceCall) -> str:
    """The name in the path, or that of the new object: its prefix if the server is to make it."""
    if call.name or call.verb != "create":
        return call.name
    try:
        metadata = call.object_body().get("metadata")
    except StatusError:
        return ""
    named = metadata if isinstance(metadata, dict) else {}
    return str(named.get("name") or named.get("generateName") or "")
