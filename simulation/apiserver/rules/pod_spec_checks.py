"""Rules of whole pod specs, and of amounts in them, that the data cannot say: a function each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.values.quantity import Quantity, QuantityError, of_value, parse_quantity
from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.checks import of_containers
from simulation.apiserver.rules.pod_checks import each_container
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry
from simulation.apiserver.rules.spelling import address, label, label_key, subdomain_with_underscores, sysctl
from simulation.quotas.resource_lists import read

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)

# --- amounts --------------------------------------------------------------------------------------------------------

_HUGE = "hugepages-"
_OF_PODS = ("cpu", "memory", _HUGE)


@check
def container_resources(seen: Seen) -> Iterator[Cause]:
    yield from _requirements(seen, of_containers)


@check
def overhead(seen: Seen) -> Iterator[Cause]:
    """Upstream judges it as the limits of a container."""
    place = Seen({"limits": seen.value}, None, seen.path.rpartition(".")[0], seen.root, None, seen.outer)
    yield from _requirements(place, of_containers)


@check
def pod_resources(seen: Seen) -> Iterator[Cause]:
    """Amounts for the whole pod, which its containers share."""
    spec = seen.around("containers") or {}
    if field_of(spec.get("os"), "name") == "windows":
        yield causes.forbidden(seen.path, "may not be set for a windows pod")
        return
    if seen.value.get("claims") is not None:
        yield causes.forbidden(seen.join("claims"), "claims may not be set for Resources at pod-level")
    yield from _requirements(seen, _of_pods)
    limits = read(seen.value.get("limits"))
    for number, container in enumerate(spec.get("containers") or ()):
        for name, amount in read(field_of(container.get("resources"), "limits")).items():
            if name in limits and amount > limits[name]:
                at = f"{seen.join('containers')}[{number}][{name}].limits"
                yield causes.invalid(at, str(amount), f"must be less than or equal to pod limits of {limits[name]}")


def _of_pods(name: str, field: str) -> Iterator[Cause]:
    faults = list(of_containers(name, field))
    if faults:
        yield from faults[:1]
    elif name not in _OF_PODS and not name.startswith(_HUGE):
        yield causes.not_supported(field, name, _OF_PODS)


def _requirements(seen: Seen, judge: Any) -> Iterator[Cause]:
    limits, requests = read(seen.value.get("limits")), read(seen.value.get("requests"))
    for name, amount in limits.items():
        yield from _amount(name, amount, f"{seen.join('limits')}[{name}]", judge)
    for name, amount in requests.items():
        yield from _amount(name, amount, f"{seen.join('requests')}[{name}]", judge)
        most, is_shared = limits.get(name), _is_native(name) and not name.startswith(_HUGE)
        if most is None and not is_shared:
            yield causes.required(seen.join("limits"), "Limit must be set for non overcommitable resources")
        elif most is not None and amount != most and not is_shared:
            yield causes.invalid(seen.join("requests"), str(amount), f"must be equal to {name} limit of {most}")
        elif most is not None and amount > most:
            why = f"must be less than or equal to {name} limit of {most}"
            yield causes.invalid(seen.join("requests"), str(amount), why)
    names = {*limits, *requests}
    if not names & {"cpu", "memory"} and any(name.startswith(_HUGE) for name in names):
        yield causes.forbidden(seen.path, "HugePages require cpu or memory")
    yield from _claims(seen)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _amount(name: str, amount: Quantity, field: str, judge: Any) -> Iterator[Cause]:
    yield from judge(name, field)
    if amount < of_value(0):
        yield causes.invalid(field, str(amount), causes.NOT_NEGATIVE)
    if not _is_native(name) and amount.milli_value() % 1000:
        yield causes.invalid(field, str(amount), "must be an integer")
    if name.startswith(_HUGE) and not _is_whole_pages(name, amount):
        yield causes.invalid(field, str(amount), f"{amount} is not positive integer multiple of {name}")


def _is_whole_pages(name: str, amount: Quantity) -> bool:
    try:
        page = parse_quantity(name.removeprefix(_HUGE)).value()
    except QuantityError:
        return False
    return page > 0 and amount.value() >= 0 and amount.value() % page == 0


def _claims(seen: Seen) -> Iterator[Cause]:
    """Claims of devices, by the names that the pod gives them."""
    known = sorted(
        {one.get("name") or "" for one in field_of(seen.around("containers"), "resourceClaims") or ()} - {""}
    )
    used: list[str] = []
    for number, claim in enumerate(seen.value.get("claims") or ()):
        at, name, request = f"{seen.join('claims')}[{number}]", claim.get("name") or "", claim.get("request") or ""
        key = f"{name}/{request}" if request else name
        if not name:
            yield causes.required(at)
        elif name in used:
            yield causes.duplicate(at, name)
        else:
            if request:
                yield from (causes.invalid(f"{at}.request", request, why) for why in label(request))
            if key in used:
                yield causes.duplicate(at, key)
            elif not request:
                yield from (causes.duplicate(at, name) for one in used if one.startswith(f"{name}/"))
            used.append(key)
        if name not in known:
            reason, message, field = causes.not_found(at, name)
            where = f": {', '.join(known)}" if known else " which is empty"
            yield reason, f"{message}: must be one of the names in pod.spec.resourceClaims{where}", field


# --- the spec -------------------------------------------------------------------------------------------------------


@check
def claim_of_pod(seen: Seen) -> Iterator[Cause]:
    """Called if there is neither a claim nor a template for one, or both. Go shows its struct."""
    both = [seen.value.get(name) for name in ("resourceClaimName", "resourceClaimTemplateName")]
    shown = {"Name": seen.value.get("name") or "", "ResourceClaimName": both[0], "ResourceClaimTemplateName": both[1]}
    if None in both:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
    else:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
    yield causes.invalid(seen.path, shown, why)


@check
def sysctls(seen: Seen) -> Iterator[Cause]:
    known: list[str] = []
    for number, one in enumerate(seen.value or ()):
        at, name = f"{seen.path}[{number}].name", one.get("name") or ""
        if not name:
            yield causes.required(at)
        elif sysctl(name):
            yield from (causes.invalid(at, name, why) for why in sysctl(name))
        elif name in known:
            yield causes.duplicate(at, name)
        spec = seen.around("containers") or {}
        for kind, prefixes in _NAMESPACED.items():
            if spec.get(kind) and name.replace("/", ".").startswith(prefixes):
                yield causes.invalid(at, name, f"may not be specified when '{kind}' is true")
        known.append(name)


_NAMESPACED = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")}


@check
def dns_config(seen: Seen) -> Iterator[Cause]:
    servers, searches = seen.value.get("nameservers") or [], seen.value.get("searches") or []
    if len(servers) > 3:
        yield causes.invalid(seen.join("nameservers"), servers, "must not have more than 3 nameservers")
    for number, text in enumerate(servers):
        at = f"{seen.join('nameservers')}[{number}]"
        yield from (causes.invalid(at, text, why) for why in address(text))
    if len(searches) > 32:
        yield causes.invalid(seen.join("searches"), searches, "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        why = "must not have more than 2048 characters (including spaces) in the search list"
        yield causes.invalid(seen.join("searches"), searches, why)
    for number, text in enumerate(searches):
        at, short = f"{seen.join('searches')}[{number}]", text.removesuffix(".")
        faults = () if text == "." else subdomain_with_underscores(short)
        yield from (causes.invalid(at, short, why) for why in faults)
    for number, option in enumerate(seen.value.get("options") or ()):
        if not option.get("name"):
            yield causes.required(f"{seen.join('options')}[{number}]", "must not be empty")


@check
def scheduling_gates(seen: Seen) -> Iterator[Cause]:
    known: list[str] = []
    for number, gate in enumerate(seen.value or ()):
        at, name = f"{seen.path}[{number}]", gate.get("name") or ""
        yield from (causes.invalid(at, name, why) for why in label_key(name))
        if name in known:
            yield causes.duplicate(at, name)
        known.append(name)


@check
def own_users(seen: Seen) -> Iterator[Cause]:
    """A pod with users of its own cannot share other namespaces of the node."""
    spec, why = seen.value, "when `hostUsers` is false"
    if spec.get("hostUsers") is not False:
        return
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(name):
            yield causes.forbidden(seen.join(name.replace("hostP", "HostP").replace("hostI", "HostI")), why)
    for container, at in each_container(seen):
        if container.get("volumeDevices"):
            yield causes.forbidden(f"{at}.volumeDevices", why)


@check
def unmasked_proc(seen: Seen) -> Iterator[Cause]:
    if field_of(seen.around("containers"), "hostUsers") is not False:
        yield causes.invalid(seen.path, seen.value, "`hostUsers` must be false to use `Unmasked`")


@check
def context_of_container(seen: Seen) -> Iterator[Cause]:
    why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
    yield causes.invalid(seen.path, seen.value, why)


@check
def admin_without_escalation(seen: Seen) -> Iterator[Cause]:
    for name in field_of(seen.value.get("capabilities"), "add") or ():
        if name == "CAP_SYS_ADMIN":
            why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield causes.invalid(seen.path, seen.value, why)


@check
def no_pod_group(seen: Seen) -> Iterator[Cause]:
    yield causes.invalid(seen.path, None, "must specify one of: `podGroupName`")


@check
def known_os(seen: Seen) -> Iterator[Cause]:
    yield causes.not_supported(seen.path, seen.value["name"], ("linux", "windows"))


@check
def volumes_of_files(seen: Seen) -> Iterator[Cause]:
    """Variables from a file come from an emptyDir."""
    volumes = {one.get("name"): one for one in seen.value.get("volumes") or ()}
    for container, path in each_container(seen):
        for number, variable in enumerate(container.get("env") or ()):
            reference = field_of(variable.get("valueFrom"), "fileKeyRef")
            if reference is None:
                continue
            at, name = f"{path}.env[{number}].valueFrom.fileKeyRef.volumeName", reference.get("volumeName") or ""
            if name not in volumes:
                yield causes.not_found(at, name)
            elif volumes[name].get("emptyDir") is None:
                yield causes.invalid(at, name, "referenced volume must be of type emptyDir")


# --- where it runs --------------------------------------------------------------------------------------------------


@check
def one_value(seen: Seen) -> Iterator[Cause]:
    if len(seen.value.get("values") or ()) != 1:
        yield causes.required(seen.join("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")


@check
def one_name(seen: Seen) -> Iterator[Cause]:
    if len(seen.value.get("values") or ()) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield causes.required(seen.join("values"), why)


@check
def label_keys(seen: Seen) -> Iterator[Cause]:
    yield from _label_keys(seen.value, seen.path)


def _label_keys(term: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Keys of labels whose values a selector takes from the new pod."""
    selector = term.get("labelSelector")
    matched, mismatched = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield causes.forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")
            continue
        for number, key in enumerate(keys):
            yield from (causes.invalid(f"{path}.{name}[{number}]", key, why) for why in label_key(key))
    selected = set(field_of(selector, "matchLabels") or ())
    for one in field_of(selector, "matchExpressions") or ():
        key = one.get("key")
        if key in matched and key in selected:
            at = f"{path}.matchLabelKeys[{matched.index(key)}]"
            yield causes.invalid(at, key, "exists in both matchLabelKeys and labelSelector")
        selected.add(key)
    for number, key in enumerate(matched):
        if key in mismatched:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield causes.invalid(f"{path}.matchLabelKeys[{number}]", key, why)


_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSIONS = ("Honor", "Ignore")


@check
def spread_constraints(seen: Seen) -> Iterator[Cause]:
    constraints: Sequence[Any] = seen.value or ()
    for number, one in enumerate(constraints):
        at, key, action = f"{seen.path}[{number}]", one.get("topologyKey") or "", one.get("whenUnsatisfiable") or ""
        if (one.get("maxSkew") or 0) <= 0:
            yield causes.invalid(f"{at}.maxSkew", one.get("maxSkew") or 0, "must be greater than zero")
        if not key:
            yield causes.required(f"{at}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            yield causes.not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS)
        rest = [(each.get("topologyKey") or "", each.get("whenUnsatisfiable") or "") for each in constraints]
        if (key, action) in rest[number + 1 :]:
            yield causes.duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        domains = one.get("minDomains")
        if domains is not None and domains <= 0:
            yield causes.invalid(f"{at}.minDomains", domains, "must be greater than zero")
        if domains is not None and action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield causes.invalid(f"{at}.minDomains", domains, why)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if one.get(name) is not None and one[name] not in _INCLUSIONS:
                yield causes.not_supported(f"{at}.{name}", one[name], _INCLUSIONS)
        yield from _label_keys({**one, "mismatchLabelKeys": []}, at)


# --- systems --------------------------------------------------------------------------------------------------------


@check
def host_process(seen: Seen) -> Iterator[Cause]:
    """Containers on Windows that run as processes of the node: all or none."""
    whole = field_of(field_of(seen.value.get("securityContext"), "windowsOptions"), "hostProcess")
    ours: list[bool] = []
    for container, path in each_container(seen):
        its = field_of(field_of(container.get("securityContext"), "windowsOptions"), "hostProcess")
        if None not in (whole, its) and whole != its:
            why = f"pod hostProcess value must be identical if both are specified, was {str(whole).lower()}"
            yield causes.invalid(f"{path}.securityContext.windowsOptions.hostProcess", its, why)
        ours.append(bool(whole if its is None else its))
    if any(ours):
        if not all(ours):
            why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            yield causes.invalid(seen.path, "", why)
        if not seen.value.get("hostNetwork"):
            why = "hostNetwork must be true if pod contains any hostProcess containers"
            yield causes.invalid(seen.join("hostNetwork"), False, why)


@check
def no_windows_options(seen: Seen) -> Iterator[Cause]:
    for value, path in ((seen.value, seen.path), *each_container(seen)):
        if field_of(value.get("securityContext"), "windowsOptions") is not None:
            at = f"{path}.securityContext.windowsOptions"
            yield causes.forbidden(at, "windows options cannot be set for a linux pod")


_NOT_OF_WINDOWS_PODS = (
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)
_NOT_OF_WINDOWS_CONTAINERS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


@check
def of_windows(seen: Seen) -> Iterator[Cause]:
    """What Linux alone has."""
    for name in _NOT_OF_WINDOWS_PODS:
        above, _, last = name.rpartition(".")
        value = field_of(seen.value.get(above) if above else seen.value, last)
        if value is not None and (value or last not in ("hostPID", "hostIPC", "sysctls")):
            yield causes.forbidden(seen.join(name), "cannot be set for a windows pod")
    for container, path in each_container(seen):
        for name in _NOT_OF_WINDOWS_CONTAINERS:
            if field_of(container.get("securityContext"), name) is not None:
                yield causes.forbidden(f"{path}.securityContext.{name}", "cannot be set for a windows pod")
