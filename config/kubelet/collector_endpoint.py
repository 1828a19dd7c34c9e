"""The target of traces (`tracing.endpoint`): a name as gRPC reads it, without TLS. Pure.

A kubelet takes the same schemes. `dns://server/host` names a DNS server, which the exporter of the SDK does not
support.
"""

from __future__ import annotations

import re

_SCHEMES = ("dns", "unix", "unix-abstract")
_PATH = re.compile(r"unix:(//(?=/))?[^\x00]+|unix-abstract:[^\x00]+")
_HOST = re.compile(r"(dns:(///)?)?(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_.-]+)(:(?P<port>[0-9]+))?", re.ASCII)


def collector_fault(endpoint: str) -> str:
    """Why no collector can be there; empty: nothing is wrong with it."""
    if not endpoint:
        return "is empty"
    scheme, slashes, rest = endpoint.partition("://")
    if slashes and scheme not in _SCHEMES:
        return f"{scheme!r} is none of the schemes {', '.join(_SCHEMES)}"
    if slashes and not rest.startswith("/"):
        return f"{endpoint!r} needs a third slash"
    if _PATH.fullmatch(endpoint):
        return ""
    found = _HOST.fullmatch(endpoint)
    if found is None:
        return f"{endpoint!r} is not a host and port"
    port = found["port"]
    return "" if port is None or 0 < int(port) < 65536 else f"{port} is not a port"
