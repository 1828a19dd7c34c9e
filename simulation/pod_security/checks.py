"""The rules of the levels `baseline` and `restricted`, each as of a version of Kubernetes.

A check gets the metadata and the spec of a pod and gives its fault: a reason, and the details of that. The table at the
end says to which level a check belongs, from which version on, and which check of `baseline` it replaces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Mapping[str, Any]
Fault: TypeAlias = tuple[str, str]
"""Reason and detail."""
Check: TypeAlias = Callable[[Json, Json], Fault | None]

_NEWEST = 1_000_000_000
"""In place of the minor version of `latest`."""
_CAPABILITIES = frozenset(
    ("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP")
) | {"SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
_SYSCTLS = frozenset(
    f"net.ipv4.{name}"
    for name in ("ip_local_port_range", "tcp_syncookies", "ping_group_range", "ip_unprivileged_port_start")
) | {"kernel.shm_rmid_forced"}
_SYSCTLS_27 = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29 = _SYSCTLS_27 | {
    f"net.ipv4.tcp_{name}" for name in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")
}
_SYSCTLS_32 = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
_PROFILES = ("RuntimeDefault", "Localhost")
_VOLUMES = frozenset(
    (
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    )
)
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def faults_of(level: str, minor: int | None, metadata: Json, spec: Json) -> list[Fault]:
    """What a pod does wrong at a level. `minor`: of the version 1.x; None: the latest."""
    found = (check(metadata, spec) for check in _checks(level, _NEWEST if minor is None else minor))
    return [fault for fault in found if fault is not None]


# --- words ------------------------------------------------------------------------------------------------------------


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _many(word: str, items: Collection[object]) -> str:
    return word if len(items) == 1 else f"{word}s"


def _setters(is_pod: bool, containers: list[str]) -> str:
    """The pod, containers or both; empty for neither."""
    named = [f"{_many('container', containers)} {_quoted(containers)}"] if containers else []
    return " and ".join([*(["pod"] if is_pod else []), *named])


# --- what checks look at ----------------------------------------------------------------------------------------------


def _containers(spec: Json) -> Iterator[tuple[str, Json, Json]]:
    """Name, container and security context."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            yield container["name"], container, container.get("securityContext") or {}


def _context(spec: Json) -> Json:
    found: Json = spec.get("securityContext") or {}
    return found


def _bad_containers(spec: Json, is_bad: Callable[[Json], bool]) -> list[str]:
    """The containers whose security context is bad."""
    return [name for name, _, context in _containers(spec) if is_bad(context)]


def _is_windows(spec: Json) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _but(excuse: Callable[[Json], bool], check: Check) -> Check:
    """The check, unless the pod is excused."""
    return lambda metadata, spec: None if excuse(spec) else check(metadata, spec)


def _has_own_users(spec: Json) -> bool:
    """Whether the pod has a user namespace."""
    return spec.get("hostUsers") is False


# --- baseline ---------------------------------------------------------------------------------------------------------


def _app_armor(metadata: Json, spec: Json) -> Fault | None:
    def bad(context: Json) -> str:
        kind = (context.get("appArmorProfile") or {}).get("type")
        return kind if kind is not None and kind not in _PROFILES else ""

    containers = _bad_containers(spec, lambda context: bool(bad(context)))
    values = sorted({bad(_context(spec)), *(bad(context) for _, _, context in _containers(spec))} - {""})
    setters = [_setters(bool(bad(_context(spec))), containers)]
    annotations = [
        f"{name}={json.dumps(value)}"
        for name, value in sorted((metadata.get("annotations") or {}).items())
        if name.startswith(_APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    ]
    if annotations:
        setters.append(_many("annotation", annotations))
    who, bad_values = " and ".join(filter(None, setters)), [*values, *annotations]
    if not who:
        return None
    detail = f"{who} must not set AppArmor profile type to {_quoted(bad_values)}"
    return _many("forbidden AppArmor profile", bad_values), detail


def _capabilities(metadata: Json, spec: Json) -> Fault | None:
    added = {name: (context.get("capabilities") or {}).get("add") or () for name, _, context in _containers(spec)}
    bad = {name: {*those} - _CAPABILITIES for name, those in added.items() if {*those} - _CAPABILITIES}
    if not bad:
        return None
    names = _quoted(sorted(set().union(*bad.values())))
    return "non-default capabilities", f"{_setters(False, [*bad])} must not include {names} in {_ADD}"


_ADD = "securityContext.capabilities.add"


def _host_namespaces(metadata: Json, spec: Json) -> Fault | None:
    found = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return ("host namespaces", ", ".join(found)) if found else None


def _host_paths(metadata: Json, spec: Json) -> Fault | None:
    names = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return ("hostPath volumes", f"{_many('volume', names)} {_quoted(names)}") if names else None


def _host_ports(metadata: Json, spec: Json) -> Fault | None:
    used = {
        name: {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        for name, container, _ in _containers(spec)
    }
    names, ports = [name for name, those in used.items() if those], sorted(set().union(*used.values()))
    if not names:
        return None
    verb = "uses" if len(names) == 1 else "use"
    return "hostPort", f"{_setters(False, names)} {verb} {_many('hostPort', ports)} {', '.join(ports)}"


def _probe_hosts(metadata: Json, spec: Json) -> Fault | None:
    hosts: dict[str, set[str]] = {}
    for name, container, _ in _containers(spec):
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(f"{kind}Probe") for kind in ("liveness", "readiness", "startup")]
        handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
        actions = (each.get(kind) or {} for each in handlers if each for kind in ("httpGet", "tcpSocket"))
        found = {action["host"] for action in actions if action.get("host")}
        if found:
            hosts[name] = found
    if not hosts:
        return None
    named, verb = sorted(set().union(*hosts.values())), "uses" if len(hosts) == 1 else "use"
    what = _many("probe or lifecycle host", named)
    return "probe or lifecycle host", f"{_setters(False, sorted(hosts))} {verb} {what} {_quoted(named)}"


def _privileged(metadata: Json, spec: Json) -> Fault | None:
    names = _bad_containers(spec, lambda context: context.get("privileged") is True)
    detail = f"{_setters(False, names)} must not set securityContext.privileged=true"
    return ("privileged", detail) if names else None


def _proc_mount(metadata: Json, spec: Json) -> Fault | None:
    mounts = {name: context.get("procMount") for name, _, context in _containers(spec)}
    bad = {name: mount for name, mount in mounts.items() if mount not in (None, "Default")}
    values = _quoted(sorted({str(mount) for mount in bad.values()}))
    return (
        ("procMount", f"{_setters(False, [*bad])} must not set securityContext.procMount to {values}") if bad else None
    )


def _selinux(allowed: frozenset[str], metadata: Json, spec: Json) -> Fault | None:
    contexts = [_context(spec), *(context for _, _, context in _containers(spec))]
    options = [context.get("seLinuxOptions") or {} for context in contexts]

    def is_bad(context: Json) -> bool:
        own = context.get("seLinuxOptions") or {}
        return own.get("type", "") not in allowed or bool(own.get("user") or own.get("role"))

    who = _setters(is_bad(_context(spec)), _bad_containers(spec, is_bad))
    if not who:
        return None
    types = sorted({each.get("type", "") for each in options} - allowed)
    said = [f"{_many('type', types)} {_quoted(types)}"] if types else []
    said += [f"{field} may not be set" for field in ("user", "role") if any(each.get(field) for each in options)]
    return "seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(said)}"


def _seccomp_annotations(metadata: Json, spec: Json) -> Fault | None:
    annotations = metadata.get("annotations") or {}
    names = [_SECCOMP_OF_POD, *(_SECCOMP_OF_CONTAINER + name for name, _, _ in _containers(spec))]
    bad = sorted(
        f"{name}={json.dumps(annotations[name])}"
        for name in dict.fromkeys(names)
        if name in annotations
        and annotations[name] not in ("runtime/default", "docker/default")
        and not annotations[name].startswith("localhost/")
    )
    return ("seccompProfile", f"forbidden {_many('annotation', bad)} {', '.join(bad)}") if bad else None


def _seccomp(metadata: Json, spec: Json) -> Fault | None:
    def bad(context: Json) -> str:
        profile = context.get("seccompProfile")
        kind = str((profile or {}).get("type"))
        return "" if profile is None or kind in _PROFILES else kind

    who = _setters(bool(bad(_context(spec))), _bad_containers(spec, lambda context: bool(bad(context))))
    if not who:
        return None
    values = {bad(_context(spec)), *(bad(context) for _, _, context in _containers(spec))} - {""}
    detail = f"{who} must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}"
    return "seccompProfile", detail


def _sysctls(allowed: frozenset[str], metadata: Json, spec: Json) -> Fault | None:
    names = [each["name"] for each in _context(spec).get("sysctls") or () if each["name"] not in allowed]
    return ("forbidden sysctls", ", ".join(names)) if names else None


def _host_process(metadata: Json, spec: Json) -> Fault | None:
    def is_bad(context: Json) -> bool:
        return (context.get("windowsOptions") or {}).get("hostProcess") is True

    who = _setters(is_bad(_context(spec)), _bad_containers(spec, is_bad))
    return ("hostProcess", f"{who} must not set securityContext.windowsOptions.hostProcess=true") if who else None


# --- restricted -------------------------------------------------------------------------------------------------------


def _escalation(metadata: Json, spec: Json) -> Fault | None:
    names = _bad_containers(spec, lambda context: context.get("allowPrivilegeEscalation") is not False)
    detail = f"{_setters(False, names)} must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", detail) if names else None


def _capabilities_restricted(metadata: Json, spec: Json) -> Fault | None:
    own = {name: context.get("capabilities") or {} for name, _, context in _containers(spec)}
    keeping = [name for name, each in own.items() if "ALL" not in (each.get("drop") or ())]
    adding = {name: {*(each.get("add") or ())} - {"NET_BIND_SERVICE"} for name, each in own.items()}
    adding = {name: those for name, those in adding.items() if those}
    said = [f'{_setters(False, keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        names = _quoted(sorted(set().union(*adding.values())))
        said.append(f"{_setters(False, [*adding])} must not include {names} in {_ADD}")
    return ("unrestricted capabilities", "; ".join(said)) if said else None


def _restricted_volumes(metadata: Json, spec: Json) -> Fault | None:
    bad = {}
    for volume in spec.get("volumes") or ():
        kinds = [name for name, source in volume.items() if name != "name" and source is not None]
        if not _VOLUMES.intersection(kinds):
            bad[volume["name"]] = kinds[0] if kinds else "unknown"
    if not bad:
        return None
    kinds, verb = sorted(set(bad.values())), "uses" if len(bad) == 1 else "use"
    what = _many("restricted volume type", kinds)
    return "restricted volume types", f"{_many('volume', bad)} {_quoted(bad)} {verb} {what} {_quoted(kinds)}"


def _run_as_non_root(metadata: Json, spec: Json) -> Fault | None:
    of_pod = _context(spec).get("runAsNonRoot")
    explicit = _bad_containers(spec, lambda context: context.get("runAsNonRoot") is False)
    who = _setters(of_pod is False, explicit)
    if who:
        return "runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false"
    silent = _bad_containers(spec, lambda context: context.get("runAsNonRoot") is None) if not of_pod else []
    detail = f"pod or {_setters(False, silent)} must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", detail) if silent else None


def _run_as_user(metadata: Json, spec: Json) -> Fault | None:
    names = _bad_containers(spec, lambda context: context.get("runAsUser") == 0)
    who = _setters(_context(spec).get("runAsUser") == 0, names)
    return ("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def _seccomp_restricted(metadata: Json, spec: Json) -> Fault | None:
    fault = _seccomp(metadata, spec)
    if fault is not None or _context(spec).get("seccompProfile") is not None:
        return fault
    silent = _bad_containers(spec, lambda context: context.get("seccompProfile") is None)
    kinds = '"RuntimeDefault" or "Localhost"'
    detail = f"pod or {_setters(False, silent)} must set securityContext.seccompProfile.type to {kinds}"
    return ("seccompProfile", detail) if silent else None


# --- the table --------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A check, its forms by the first minor version of each, and the check of `baseline` that it replaces."""

    name: str
    forms: tuple[tuple[int, Check], ...]
    replaces: str = ""


_BASELINE = (
    _Row("appArmorProfile", ((0, _app_armor),)),
    _Row("capabilities", ((0, _capabilities),)),
    _Row("hostNamespaces", ((0, _host_namespaces),)),
    _Row("hostPathVolumes", ((0, _host_paths),)),
    _Row("hostPorts", ((0, _host_ports),)),
    _Row("hostProbesAndHostLifecycle", ((34, _probe_hosts),)),
    _Row("privileged", ((0, _privileged),)),
    _Row("procMount", ((0, _proc_mount), (35, _but(_has_own_users, _proc_mount)))),
    _Row(
        "seLinuxOptions",
        (
            (0, partial(_selinux, _SELINUX_TYPES)),
            (31, partial(_selinux, _SELINUX_TYPES | {"container_engine_t"})),
        ),
    ),
    _Row("seccompProfile", ((0, _seccomp_annotations), (19, _seccomp))),
    _Row(
        "sysctls",
        (
            (0, partial(_sysctls, _SYSCTLS)),
            (27, partial(_sysctls, _SYSCTLS_27)),
            (29, partial(_sysctls, _SYSCTLS_29)),
            (32, partial(_sysctls, _SYSCTLS_32)),
        ),
    ),
    _Row("windowsHostProcess", ((0, _host_process),)),
)
_RESTRICTED = (
    _Row("allowPrivilegeEscalation", ((8, _escalation), (25, _but(_is_windows, _escalation)))),
    _Row(
        "capabilities",
        ((22, _capabilities_restricted), (25, _but(_is_windows, _capabilities_restricted))),
        replaces="capabilities",
    ),
    _Row("procMount", ((35, _proc_mount),), replaces="procMount"),
    _Row("restrictedVolumes", ((0, _restricted_volumes),), replaces="hostPathVolumes"),
    _Row("runAsNonRoot", ((0, _run_as_non_root), (35, _but(_has_own_users, _run_as_non_root)))),
    _Row("runAsUser", ((23, _run_as_user), (35, _but(_has_own_users, _run_as_user)))),
    _Row(
        "seccompProfile",
        ((19, _seccomp_restricted), (25, _but(_is_windows, _seccomp_restricted))),
        replaces="seccompProfile",
    ),
)


def _checks(level: str, minor: int) -> Iterator[Check]:
    """The checks of a level, those of `baseline` first."""
    strict = [row for row in _RESTRICTED if row.forms[0][0] <= minor] if level == "restricted" else []
    replaced = {row.replaces for row in strict}
    for row in (*(_BASELINE if level != "privileged" else ()), *strict):
        forms = [check for since, check in row.forms if since <= minor]
        if forms and (row in strict or row.name not in replaced):
            yield forms[-1]
