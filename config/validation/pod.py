"""Whether a pod may be created: the checks of the API server, and those a node needs (spec 1.2).

`validate_pod` is the whole of it, `validate_metadata` and `validate_spec` are its halves: pure, every fault at once,
each with path, reason and hint, in the order of the document's fields. It expects a pod with its defaults
(`config.pods.defaults`). The rules for containers, actions, resources, security and volumes stand in files of their
own; here is what concerns the pod as a whole. Affinity is read by schedulers, not by nodes, and is not looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.documents.codec import DocumentError
from config.documents.places import DocumentPlace
from config.objects import HostAlias, ObjectMeta, Pod, PodDNSConfig, PodResourceClaim, PodSpec, Toleration
from config.validation.containers import check_containers
from config.validation.resources import check_pod_resources, check_quantity
from config.validation.security import check_host_namespaces, check_os_settings, check_pod_security
from config.validation.spreading import check_spreading
from config.validation.volumes import check_volumes
from config.values.name_rules import (
    check,
    dns_label,
    dns_subdomain,
    ip,
    label_value,
    object_uid,
    qualified_name,
    search_domain,
)

ANNOTATION_BYTES_AT_MOST = 256 * 1024
_NAMESERVERS_AT_MOST = 3
_SEARCHES_AT_MOST = 32
_SEARCH_CHARACTERS_AT_MOST = 2048


def validate_pod(pod: Pod, at: str = "$") -> tuple[DocumentError, ...]:
    """Every fault of the pod, none for a good one. `at` is the path of the pod in its document."""
    return (*validate_metadata(pod.metadata, at), *validate_spec(pod.spec, at))


def validate_metadata(metadata: ObjectMeta, at: str = "$") -> tuple[DocumentError, ...]:
    """Every fault of the metadata of the pod at `at`."""
    place = DocumentPlace(at)
    _check_metadata(place / "metadata", metadata)
    return tuple(place.faults)


def validate_spec(spec: PodSpec, at: str = "$") -> tuple[DocumentError, ...]:
    """Every fault of the spec of the pod at `at`; they are the same for all pods of one spec."""
    place = DocumentPlace(at)
    _check_spec(place / "spec", spec)
    return tuple(place.faults)


def _check_metadata(at: DocumentPlace, metadata: ObjectMeta) -> None:
    if (at / "name").required(metadata.name, "name the pod"):
        check(at / "name", dns_subdomain(metadata.name))
    if (at / "namespace").required(metadata.namespace):
        check(at / "namespace", dns_label(metadata.namespace))
    if metadata.uid:
        check(at / "uid", object_uid(metadata.uid))
    _check_labels(at / "labels", metadata.labels)
    total_bytes = 0
    for key, value in metadata.annotations.items():
        check(at / "annotations" / key, qualified_name(key.lower()))
        total_bytes += len(key.encode()) + len(value.encode())
    if total_bytes > ANNOTATION_BYTES_AT_MOST:
        (at / "annotations").fault(f"must have at most {ANNOTATION_BYTES_AT_MOST} bytes, not {total_bytes}")
    for place, owner in at.items("ownerReferences", metadata.owner_references):
        for field, value in (
            ("apiVersion", owner.api_version),
            ("kind", owner.kind),
            ("name", owner.name),
            ("uid", owner.uid),
        ):
            (place / field).required(value)


def _check_labels(at: DocumentPlace, labels: Mapping[str, str]) -> None:
    for key, value in labels.items():
        check(at / key, qualified_name(key))
        check(at / key, label_value(value))


def _check_spec(at: DocumentPlace, spec: PodSpec) -> None:
    (at / "restartPolicy").one_of(spec.restart_policy, ("Always", "OnFailure", "Never"))
    (at / "dnsPolicy").one_of(spec.dns_policy, ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"))
    (at / "preemptionPolicy").one_of(spec.preemption_policy, ("PreemptLowerPriority", "Never"))
    if spec.os is not None:
        (at / "os" / "name").required(spec.os.name)
        (at / "os" / "name").one_of(spec.os.name, ("linux", "windows"))
    (at / "terminationGracePeriodSeconds").at_least(spec.termination_grace_period_seconds, 0)
    deadline = spec.active_deadline_seconds
    (at / "activeDeadlineSeconds").at_least(deadline, 1)
    if deadline is not None and deadline > 2**31 - 1:
        (at / "activeDeadlineSeconds").fault(f"must be at most {2**31 - 1}, not {deadline}")
    _check_names(at, spec)
    _check_labels(at / "nodeSelector", spec.node_selector)
    check_volumes(at, spec.volumes)
    _check_claims(at, spec.resource_claims)
    check_containers(at, spec)
    check_pod_resources(at / "resources", spec)
    for name, text in spec.overhead.items():
        check_quantity(at / "overhead" / name, text)
    check_pod_security(at / "securityContext", spec)
    check_os_settings(at, spec)
    check_host_namespaces(at, spec)
    check_spreading(at, spec.topology_spread_constraints)
    _check_tolerations(at, spec.tolerations)
    _check_host_aliases(at, spec.host_aliases)
    _check_dns(at, spec)
    for place, gate in at.items("readinessGates", spec.readiness_gates):
        check(place / "conditionType", qualified_name(gate.condition_type))
    for place, scheduling_gate in at.items("schedulingGates", spec.scheduling_gates):
        check(place / "name", qualified_name(scheduling_gate.name))
    if spec.scheduling_gates and spec.node_name:
        (at / "nodeName").fault("cannot be set while there are schedulingGates", "remove one of them")


def _check_names(at: DocumentPlace, spec: PodSpec) -> None:
    for field, label in (("hostname", spec.hostname), ("subdomain", spec.subdomain)):
        if label:
            check(at / field, dns_label(label))
    for field, name in (
        ("nodeName", spec.node_name),
        ("serviceAccountName", spec.service_account_name),
        ("priorityClassName", spec.priority_class_name),
        ("runtimeClassName", spec.runtime_class_name),
        ("hostnameOverride", spec.hostname_override),
    ):
        if name:
            check(at / field, dns_subdomain(name))
    if spec.hostname_override is not None and len(spec.hostname_override) > 64:
        (at / "hostnameOverride").fault("must have at most 64 characters")
    if spec.hostname_override and spec.host_network:
        (at / "hostnameOverride").fault("cannot stand beside hostNetwork", "remove one of them")
    if spec.hostname_override and spec.set_hostname_as_fqdn:
        (at / "hostnameOverride").fault("cannot stand beside setHostnameAsFQDN", "remove one of them")
    for place, secret in at.items("imagePullSecrets", spec.image_pull_secrets):
        (place / "name").required(secret.name)


def _check_claims(at: DocumentPlace, claims: Iterable[PodResourceClaim]) -> None:
    seen: set[str] = set()
    for place, claim in at.items("resourceClaims", claims):
        if (place / "name").required(claim.name):
            check(place / "name", dns_label(claim.name))
            if claim.name in seen:
                (place / "name").fault(f"{claim.name!r} is the name of another claim", "choose another name")
            seen.add(claim.name)
        if bool(claim.resource_claim_name) == bool(claim.resource_claim_template_name):
            place.fault("must have one of resourceClaimName and resourceClaimTemplateName", "keep one of them")


def _check_tolerations(at: DocumentPlace, tolerations: Iterable[Toleration]) -> None:
    for place, toleration in at.items("tolerations", tolerations):
        operator = toleration.operator or "Equal"
        (place / "operator").one_of(operator, ("Equal", "Exists", "Lt", "Gt"))
        (place / "effect").one_of(toleration.effect, ("", "NoSchedule", "PreferNoSchedule", "NoExecute"))
        if toleration.key:
            check(place / "key", qualified_name(toleration.key))
        elif operator != "Exists":
            (place / "operator").fault("must be Exists where there is no key", "add a key, or operator: Exists")
        if operator == "Exists" and toleration.value:
            (place / "value").fault("must be empty where the operator is Exists", "remove it")
        if operator == "Equal" and toleration.value:
            check(place / "value", label_value(toleration.value))
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            (place / "effect").fault("must be NoExecute where there are tolerationSeconds", "set effect: NoExecute")


def _check_host_aliases(at: DocumentPlace, aliases: Iterable[HostAlias]) -> None:
    for place, alias in at.items("hostAliases", aliases):
        check(place / "ip", ip(alias.ip))
        for name_at, name in place.items("hostnames", alias.hostnames):
            check(name_at, dns_subdomain(name))


def _check_dns(at: DocumentPlace, spec: PodSpec) -> None:
    dns = spec.dns_config or PodDNSConfig()
    place = at / "dnsConfig"
    if spec.dns_policy == "None" and not dns.nameservers:
        (place / "nameservers").fault("is required where dnsPolicy is None", "add one name server at least")
    if len(dns.nameservers) > _NAMESERVERS_AT_MOST:
        (place / "nameservers").fault(f"must have at most {_NAMESERVERS_AT_MOST} items")
    for server_at, server in place.items("nameservers", dns.nameservers):
        check(server_at, ip(server))
    if len(dns.searches) > _SEARCHES_AT_MOST or len(" ".join(dns.searches)) > _SEARCH_CHARACTERS_AT_MOST:
        (place / "searches").fault(
            f"must have at most {_SEARCHES_AT_MOST} items, {_SEARCH_CHARACTERS_AT_MOST} characters"
        )
    for search_at, search in place.items("searches", dns.searches):
        if search != ".":
            check(search_at, search_domain(search.removesuffix(".")))
    for option_at, option in place.items("options", dns.options):
        (option_at / "name").required(option.name)
