"""Subresources that a node's agent answers.

Log, exec, attach and portforward of a pod, and the proxy of a node.

Owns the agent's address (from its Node's status) and its URLs. Fails for a pod or container that does not exist, is not
bound, or is not named (400, 404). A node without an address is a 503.
"""

from __future__ import annotations

from simulation.apiserver.admission.webhooks import review_part
from simulation.apiserver.kinds.table import NODES
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.answers import Answer, NodeAnswer, TextAnswer
from simulation.apiserver.requests.calls import Query, ResourceCall
from simulation.apiserver.status import Json, bad_request, not_found, unavailable

DEFAULT_PORT = 10250
_ADDRESSES = ("InternalIP", "ExternalIP", "Hostname")
_LOG_OPTIONS = ("follow", "previous", "timestamps", "tailLines", "limitBytes", "sinceSeconds", "sinceTime", "stream")
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def pod_log(context: Context, call: ResourceCall) -> Answer:
    """Raises StatusError."""
    pod = context.find(call).object
    container = _container(call, pod, call.query.get("container", ""))
    if not pod["spec"].get("nodeName"):
        return TextAnswer("")
    query = tuple((name, value) for name, value in call.request.query if name in _LOG_OPTIONS and value)
    return _of_pod(context, call, pod, f"/containerLogs/{call.namespace}/{call.name}/{container}", query)


def pod_stream(context: Context, call: ResourceCall) -> NodeAnswer:
    """exec and attach. Raises StatusError."""
    pod = context.find(call).object
    part = call.target.subresource
    asked: Json = {name: True for name in _STREAMS if call.flag(name)}
    asked |= {"container": call.query["container"]} if call.query.get("container") else {}
    command = [value for name, value in call.request.query if name == "command"]
    asked = _reviewed(context, call, {**asked, "command": command} if part == "exec" else asked)
    container = _container(call, pod, str(asked.get("container") or ""))
    words: Query = tuple(("command", str(word)) for word in asked.get("command") or ())
    streams: Query = tuple((short, "1") for name, short in _STREAMS.items() if asked.get(name))
    return _of_pod(context, call, pod, f"/{part}/{call.namespace}/{call.name}/{container}", words + streams)


def pod_portforward(context: Context, call: ResourceCall) -> NodeAnswer:
    """Raises StatusError."""
    pod = context.find(call).object
    ports = [value for name, value in call.request.query if name in ("ports", "port")]
    _reviewed(context, call, {"ports": [int(one) for text in ports for one in text.split(",") if one.isdecimal()]})
    query = tuple(("port", value) for value in ports)
    return _of_pod(context, call, pod, f"/portForward/{call.namespace}/{call.name}", query)


def _reviewed(context: Context, call: ResourceCall, options: Json) -> Json:
    """The options of a connection, as webhooks want them. Raises StatusError, ReviewWantedError."""
    assert call.target.sub is not None
    whole = {"kind": call.target.sub.kind, "apiVersion": "v1", **options}
    return review_part(context.core.store, call, whole, connects=True)


def node_proxy(context: Context, call: ResourceCall) -> NodeAnswer:
    """Raises StatusError."""
    name, _, port = call.name.partition(":")
    node = context.core.store.get("nodes", "", name)
    if node is None:
        raise not_found(NODES, name)
    host, listens = _address(node.object)
    return NodeAnswer(
        name, host, int(port) if port.isdecimal() else listens, f"/{call.target.rest}", call.request.query
    )


def _of_pod(context: Context, call: ResourceCall, pod: Json, path: str, query: Query) -> NodeAnswer:
    name = pod["spec"].get("nodeName")
    if not name:
        raise bad_request(f"pod {call.name} does not have a host assigned")
    node = context.core.store.get("nodes", "", name)
    if node is None:
        raise not_found(NODES, name)
    host, port = _address(node.object)
    return NodeAnswer(name, host, port, path, query)


def _address(node: Json) -> tuple[str, int]:
    status = node.get("status") or {}
    addresses = {one.get("type"): one.get("address") for one in reversed(status.get("addresses") or [])}
    host = next((addresses[kind] for kind in _ADDRESSES if addresses.get(kind)), None)
    if host is None:
        name = node["metadata"]["name"]
        raise unavailable(f"no preferred addresses found; the status of node {name} has none")
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    return str(host), int(endpoint.get("Port") or DEFAULT_PORT)


def _container(call: ResourceCall, pod: Json, asked: str) -> str:
    """The container of the request, which asks for that one or for none.

    `kubectl` reads the default container of a pod; the server does not. Raises StatusError.
    """
    spec = pod["spec"]
    known: list[str] = [one["name"] for field in _CONTAINERS for one in spec.get(field) or ()]
    if asked:
        if asked not in known:
            raise bad_request(f"container {asked} is not valid for pod {call.name}")
        return asked
    if len(spec["containers"]) == 1:
        return str(spec["containers"][0]["name"])
    raise bad_request(f"a container name must be specified for pod {call.name}, choose one of: [{' '.join(known)}]")
