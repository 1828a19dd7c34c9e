"""The fields of a pod in its containers' variables and files (spec 13.3). Pure.

Resources of containers are among them.

Variables and downwardAPI files share the rules but offer different fields. A variable can show addresses, which are
known before a container starts. A file can show all labels or annotations, which may change later. Every function
raises `ContainerRefusedError` with the given `path`, the place of the reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from actors.model.refusal import ContainerRefusedError
from config.objects import Container, Pod, PodSpec, ResourceFieldSelector
from config.pods.once_per_spec import once_per_spec
from config.pods.requests import HUGE_PAGES
from config.values.quantity import parse_quantity

_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")
_NO_AMOUNTS: Mapping[str, str] = {}


def variable_field(pod: Pod, field: str, path: str, pod_ips: tuple[str, ...], host_ips: tuple[str, ...]) -> str:
    """A field for a variable. Addresses of the primary family come first."""
    value = _named_field(pod, field)
    if value is not None:
        return value
    values = {
        "spec.nodeName": pod.spec.node_name or "",
        "spec.serviceAccountName": pod.spec.service_account_name or "",
        "status.hostIP": host_ips[0] if host_ips else "",
        "status.hostIPs": ",".join(host_ips),
        "status.podIP": pod_ips[0] if pod_ips else "",
        "status.podIPs": ",".join(pod_ips),
    }
    if field not in values:
        offered = ", ".join(("metadata.name", "metadata.namespace", "metadata.uid", *values))
        raise ContainerRefusedError(path, f"{field!r} cannot be a variable; use one of {offered}")
    return values[field]


def file_field(pod: Pod, field: str, path: str) -> str:
    """A field for a file of a volume."""
    if field == "metadata.labels":
        return map_lines(pod.metadata.labels)
    if field == "metadata.annotations":
        return map_lines(pod.metadata.annotations)
    value = _named_field(pod, field)
    if value is None:
        offered = "metadata.name, metadata.namespace, metadata.uid, metadata.labels, metadata.annotations"
        raise ContainerRefusedError(
            path, f"{field!r} cannot be a file; use one of {offered}, or metadata.labels['key']"
        )
    return value


def map_lines(values: Mapping[str, str]) -> str:
    """One sorted line `key="value"` for each; values are quoted like Go strings."""
    return "\n".join(f"{key}={quoted(value)}" for key, value in sorted(values.items()))


def quoted(text: str) -> str:
    """`text` in double quotes, with all invisible characters escaped."""
    return f'"{text}"' if _PLAIN.fullmatch(text) else f'"{text.translate(_ESCAPES)}"'


def resource_value(
    pod: Pod,
    container: Container | None,
    selector: ResourceFieldSelector,
    path: str,
    allocatable: Mapping[str, str],
) -> str:
    """A limit or request of `container`, or of the one that the selector names, in units of its divisor.

    An unset limit falls back to that of the pod, then to the node's (`allocatable`, quantities by resource). An unset
    one of huge pages is 0: a container has only those that it asks for.
    """
    kind, _, resource = selector.resource.partition(".")
    owner = _owner(pod, container, selector.container_name or "", path)
    resources = owner.resources
    if kind == "limits" and resource.startswith(HUGE_PAGES):
        amount = (resources.limits.get(resource) if resources is not None else None) or "0"
    elif kind == "limits":
        together = pod.spec.resources.limits if pod.spec.resources is not None else _NO_AMOUNTS
        own = resources.limits if resources is not None else _NO_AMOUNTS
        amounts = (own.get(resource), together.get(resource), allocatable.get(resource))
        # A limit of zero means no limit.
        found = next((each for each in amounts if each and parse_quantity(each).nanos), None)
        if found is None:
            raise ContainerRefusedError(
                f"{path}.resource", f"no limit of {resource} is set, and the node's is not known"
            )
        amount = found
    elif kind == "requests":
        amount = (resources.requests.get(resource) if resources is not None else None) or "0"
    else:
        raise ContainerRefusedError(f"{path}.resource", f"{selector.resource!r} must begin with limits. or requests.")
    divisor = parse_quantity(selector.divisor).nanos if selector.divisor else 0
    # Round up: a container is never told less than it has.
    return str(-(-parse_quantity(amount).nanos // (divisor or 1_000_000_000)))


def _named_field(pod: Pod, field: str) -> str | None:
    """Fields that variables and files share; None for any other."""
    meta = pod.metadata
    keyed = _KEYED.fullmatch(field)
    if keyed is not None:
        return (meta.labels if keyed[1] == "labels" else meta.annotations).get(keyed[2], "")
    if field == "metadata.name":
        return meta.name
    if field == "metadata.namespace":
        return meta.namespace
    return meta.uid if field == "metadata.uid" else None


def _owner(pod: Pod, container: Container | None, name: str, path: str) -> Container:
    if container is not None and name in ("", container.name):
        return container
    owner = _by_name(pod.spec).get(name)
    if owner is None:
        raise ContainerRefusedError(f"{path}.containerName", f"the pod has no container {name!r}")
    return owner


@once_per_spec
def _by_name(spec: PodSpec) -> Mapping[str, Container]:
    """Of two containers of one name, the first counts."""
    return {each.name: each for each in reversed((*spec.init_containers, *spec.containers))}


_PLAIN = re.compile(r"[ !#-\[\]-~]*")
"""Printable ASCII characters that need no escape."""


class _Escapes(dict[int, str]):
    """A table for `str.translate`. It shows a character that is not in it, but does not keep that."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        if character.isprintable():
            return character
        if number < 0x80:
            return f"\\x{number:02x}"
        return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


_ESCAPES = _Escapes(str.maketrans({character: character for character in map(chr, range(0x20, 0x7F))}))
_ESCAPES.update(
    str.maketrans(
        {
            '"': '\\"',
            "\\": "\\\\",
            "\a": "\\a",
            "\b": "\\b",
            "\f": "\\f",
            "\n": "\\n",
            "\r": "\\r",
            "\t": "\\t",
            "\v": "\\v",
        }
    )
)
