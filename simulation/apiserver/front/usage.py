"""`metrics.k8s.io`: current usage of nodes and pods.

So `kubectl top` works without a metrics server.

Nothing is cached: a request fetches the summaries of the agents concerned, as the proxy of a node would. The requester
needs the right to read `metrics.k8s.io`. All other requests are made as an admin, as a metrics server makes them with
its own rights. A node whose agent does not answer is left out with its pods, like one that a metrics server does not
know yet. Parsing the summaries is pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from config.api.stats_summary import Summary
from simulation.apiserver.access.attributes import AccessAttributes
from simulation.apiserver.kinds.table import USAGE
from simulation.apiserver.requests.answers import Answer, JsonAnswer, ListAnswer, NodeAnswer, ObjectAnswer, error_of
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import Json, StatusError, no_such_path

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
PREFIX = f"/apis/{GROUP}"
WINDOW = "10s"
_KINDS = {resource.plural: resource.kind for resource in USAGE}

Fetch = Callable[[NodeAnswer], Awaitable[bytes | None]]
"""Fetches an agent's summary; None when it does not answer."""


async def usage(request: ApiRequest, server: ApiServer, fetch: Fetch) -> JsonAnswer:
    """The answer to a request below `PREFIX`. Raises StatusError."""
    if request.method not in ("GET", "HEAD"):
        raise StatusError(405, "MethodNotAllowed", "usage can be read, and nothing else", {})
    parts = request.path.removeprefix(f"{PREFIX}/{VERSION}/").strip("/").split("/")
    namespaced = len(parts) > 2 and parts[0] == "namespaces"
    plural, *rest = parts[2:] if namespaced else parts
    misplaced = namespaced if plural == "nodes" else bool(rest) and not namespaced
    if plural not in _KINDS or len(rest) > 1 or misplaced:
        raise no_such_path()
    name, namespace = "".join(rest), parts[1] if namespaced else ""
    asked = AccessAttributes("get" if name else "list", GROUP, plural, namespace=namespace, name=name)
    server.check_access(request.user, asked)
    objects = _objects(request, plural, namespace, name, server.handle)
    if plural == "nodes":
        names = [each["metadata"]["name"] for each in objects]
    else:
        names = sorted({each["spec"]["nodeName"] for each in objects if each["spec"].get("nodeName")})
    ways = [_way(node, server.handle) for node in names]
    bodies = await asyncio.gather(*map(fetch, ways))
    summaries = {node: _read(body) for node, body in zip(names, bodies, strict=True)}
    items = list(_nodes(objects, summaries) if plural == "nodes" else _pods(objects, summaries))
    kind = _KINDS[plural]
    if name:
        if not items:
            raise StatusError(404, "NotFound", f'{plural}.{GROUP} "{name}" has no metrics', {"name": name})
        return JsonAnswer({"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", **items[0]})
    return JsonAnswer({"kind": f"{kind}List", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items})


def _objects(
    request: ApiRequest, plural: str, namespace: str, name: str, handle: Callable[[ApiRequest], Answer]
) -> list[Json]:
    """The requested objects. Raises StatusError."""
    path = "/api/v1" + (f"/namespaces/{namespace}" if namespace else "") + f"/{plural}" + (f"/{name}" if name else "")
    query = tuple((key, value) for key, value in request.query if key in ("labelSelector", "fieldSelector"))
    answer = handle(ApiRequest("GET", path, query))
    if isinstance(answer, ListAnswer):
        return [version.object for version in answer.versions]
    if isinstance(answer, ObjectAnswer):
        return [answer.version.object]
    raise error_of(answer)


def _way(node: str, handle: Callable[[ApiRequest], Answer]) -> NodeAnswer:
    """How to reach the summary of the node's agent. Raises StatusError."""
    query = (("only_cpu_and_memory", "true"),)
    answer = handle(ApiRequest("GET", f"/api/v1/nodes/{node}/proxy/stats/summary", query))
    if isinstance(answer, NodeAnswer):
        return answer
    raise error_of(answer)


def _read(body: bytes | None) -> Summary | None:
    if body is None:
        return None
    try:
        return msgspec.json.decode(body, type=Summary)
    except msgspec.DecodeError:
        return None


def _nodes(objects: Iterable[Json], summaries: dict[str, Summary | None]) -> Iterable[Json]:
    for each in objects:
        summary = summaries[each["metadata"]["name"]]
        if summary is None or summary.node.cpu is None or summary.node.memory is None:
            continue
        used = _usage(summary.node.cpu.usage_nano_cores, summary.node.memory.working_set_bytes)
        if used is not None:
            yield {"metadata": _metadata(each), "timestamp": summary.node.cpu.time, "window": WINDOW, "usage": used}


def _pods(objects: Iterable[Json], summaries: dict[str, Summary | None]) -> Iterable[Json]:
    for each in objects:
        meta = each["metadata"]
        summary = summaries.get(each["spec"].get("nodeName", ""))
        for pod in () if summary is None else summary.pods:
            if (pod.pod_ref.namespace, pod.pod_ref.name) != (meta["namespace"], meta["name"]) or pod.cpu is None:
                continue
            containers = []
            for container in pod.containers:
                cpu, memory = container.cpu, container.memory
                used = None if cpu is None or memory is None else _usage(cpu.usage_nano_cores, memory.working_set_bytes)
                if used is not None:
                    containers.append({"name": container.name, "usage": used})
            if containers:
                head = {"metadata": _metadata(each), "timestamp": pod.cpu.time, "window": WINDOW}
                yield {**head, "containers": containers}


def _usage(nano_cores: int | None, working_set: int | None) -> Json | None:
    if nano_cores is None or working_set is None:
        return None
    return {"cpu": f"{nano_cores}n", "memory": f"{working_set // 1024}Ki"}


def _metadata(each: Json) -> Json:
    meta = each["metadata"]
    return {key: meta[key] for key in ("name", "namespace", "creationTimestamp", "labels") if key in meta}
