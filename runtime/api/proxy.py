"""The proxy for a server, from the environment: HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Pure.

The rules are those of other programs of a cluster, so that one environment serves all. An entry of NO_PROXY is one of:

- a host, which includes all names below it;
- a domain with a leading dot (only names below it);
- an IP address, or a range (`10.0.0.0/8`);
- `*`, for every server.

An entry may end in a port. Loopback never uses a proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from config.values.loopback import is_loopback


def proxy_for(server: str, environment: Mapping[str, str]) -> str:
    """The URL of the proxy for the URL `server`; empty for none."""
    parts = urlsplit(server)
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    proxy = _variable(environment, f"{parts.scheme}_proxy")
    if not proxy or is_loopback(host) or _excepted(host, port, _variable(environment, "no_proxy")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _excepted(host: str, port: int, exceptions: str) -> bool:
    return any(_matches(entry.strip().lower(), host, port) for entry in exceptions.split(",") if entry.strip())


def _matches(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    if _address(entry) is None:
        name, colon, entry_port = entry.rpartition(":")
        if colon and entry_port.isdigit():
            if int(entry_port) != port:
                return False
            entry = name.strip("[]")
    if address is not None:
        return _address(entry) == address
    entry = entry.removeprefix("*")
    return host.endswith(entry) if entry.startswith(".") else host == entry or host.endswith(f".{entry}")
