"""Whether the values of a KubeletConfiguration are valid, alone and together (spec 12.2, 17.2, 17.5).

`validate` returns every fault and every warning at once. Rules for single fields are tables in `ranges`; this file has
the rules that compare fields or parse text. It reads nothing from the host; the caller gives the version of cgroups.
"""

import posixpath
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import msgspec

from config.credentials.masked_urls import masked_url
from config.documents.codec import DocumentError
from config.kubelet.collector_endpoint import collector_fault
from config.kubelet.configuration import SECOND_NS, KubeletConfiguration
from config.kubelet.eviction import eviction_faults
from config.kubelet.feature_gates import FeatureGates, choose_gates
from config.kubelet.node_resources import resource_faults
from config.kubelet.ranges import range_faults
from config.kubelet.tls import tls_faults, tls_warnings
from config.kubelet.unhonoured import unhonoured_fields, unhonoured_gates
from config.values.durations import format_duration_ns
from config.values.quantity import QuantityError, parse_quantity

ID_RANGE = 65536
VERIFICATION_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify")
MINOR_BEFORE = "1.35"
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

# Sysctls that the kernel keeps per IPC namespace; all of fs.mqueue. and net. is namespaced too (spec 17.5).
IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shm", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "msg", "msgmax", "msgmnb", "msgmni")
)


class Validated(msgspec.Struct, frozen=True):
    """Every fault, every warning, and the gates in force."""

    faults: tuple[DocumentError, ...]
    warnings: tuple[DocumentError, ...]
    gates: FeatureGates


def validate(configuration: KubeletConfiguration, *, cgroup_version: int | None = None) -> Validated:
    """Check every rule. `cgroup_version` is the host's (1 or 2); None skips the one rule about it."""
    choice = choose_gates(configuration.feature_gates)
    gates = choice.gates
    faults = (
        *choice.faults,
        *range_faults(configuration),
        *resource_faults(configuration, gates),
        *eviction_faults(configuration),
        *tls_faults(configuration, gates),
        *_addresses(configuration),
        *_paths(configuration),
        *_images(configuration, gates),
        *_shutdown(configuration, gates),
        *_gated(configuration, gates),
        *_taints(configuration),
        *_sysctls(configuration),
        *_logging(configuration, gates),
        *_user_namespaces(configuration),
        *_rest(configuration, cgroup_version),
    )
    warnings = (
        *choice.warnings,
        *tls_warnings(configuration),
        *_doubtful(configuration),
        *unhonoured_fields(configuration),
        *unhonoured_gates(gates),
    )
    return Validated(faults, warnings, gates)


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _addresses(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    for name, text in (
        ("address", configuration.address),
        ("healthzBindAddress", configuration.healthz_bind_address),
    ):
        if not _is_ip(text):
            yield DocumentError(f"$.{name}", f"{text!r} is not an IP address", "write 0.0.0.0 or ::")
    if configuration.pod_cidr:
        for part in configuration.pod_cidr.split(","):
            try:
                ip_network(part.strip(), strict=False)
            except ValueError:
                yield DocumentError("$.podCIDR", f"{part!r} is not a network", "write 10.0.0.0/24")
    if configuration.static_pod_url:
        try:
            url = urlsplit(configuration.static_pod_url)
        except ValueError:
            url = urlsplit("")
        if url.scheme not in ("http", "https") or not url.netloc:
            reason = f"{masked_url(configuration.static_pod_url)!r} is not an http or https address"
            yield DocumentError("$.staticPodURL", reason, "write https://host/path")
    if not configuration.container_runtime_endpoint:
        yield DocumentError("$.containerRuntimeEndpoint", "is missing", "give unix:///run/containerd/containerd.sock")


def _doubtful(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    """Warnings about values that the kubelet accepts too."""
    for index, text in enumerate(configuration.cluster_dns):
        if not _is_ip(text):
            yield DocumentError(
                f"$.clusterDNS[{index}]", f"{text!r} is not an IP address and is left out", "give an IP"
            )
    for signal in ("containerfs.available", "containerfs.inodesFree"):
        if signal in configuration.eviction_hard or signal in configuration.eviction_soft:
            reason = f"{signal} is derived from nodefs or imagefs; the value given is ignored"
            yield DocumentError("$.evictionHard", reason, "set the threshold of nodefs or imagefs")


def _paths(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    where, path = "$.podLogsDir", configuration.pod_logs_dir
    if not path.startswith("/"):
        yield DocumentError(where, f"{path!r} is not absolute", "start it with /")
    elif posixpath.normpath(path) != path:
        yield DocumentError(where, f"{path!r} is not normalised", f"write {posixpath.normpath(path)}")
    if not path.isascii():
        yield DocumentError(where, f"{path!r} is not ASCII", "the runtime reads only ASCII paths of logs")


def _images(configuration: KubeletConfiguration, gates: FeatureGates) -> Iterator[DocumentError]:
    low = configuration.image_gc_low_threshold_percent
    high = configuration.image_gc_high_threshold_percent
    if low >= high:
        reason = f"{low} must be below imageGCHighThresholdPercent {high}"
        yield DocumentError("$.imageGCLowThresholdPercent", reason, "lower it, or raise the other")
    youngest, oldest = configuration.image_minimum_gc_age, configuration.image_maximum_gc_age
    if 0 < oldest <= youngest:
        reason = f"{format_duration_ns(oldest)} must be above imageMinimumGCAge {format_duration_ns(youngest)}"
        yield DocumentError("$.imageMaximumGCAge", reason, "raise it, or give 0s to switch it off")
    parallel = configuration.max_parallel_image_pulls
    if parallel is not None and parallel > 1 and configuration.serialize_image_pulls:
        reason = "above 1 contradicts serializeImagePulls: true"
        yield DocumentError("$.maxParallelImagePulls", reason, "set serializeImagePulls: false, or give 1")
    policy = configuration.image_pull_credentials_verification_policy
    path = "$.imagePullCredentialsVerificationPolicy"
    if not gates.enabled("KubeletEnsureSecretPulledImages"):
        if policy:
            hint = "remove it, or set featureGates.KubeletEnsureSecretPulledImages: true"
            yield DocumentError(path, "needs the feature gate KubeletEnsureSecretPulledImages", hint)
    elif policy not in VERIFICATION_POLICIES:
        hint = f"use one of {', '.join(VERIFICATION_POLICIES)}"
        yield DocumentError(path, f"{policy!r} is not a known value", hint)
    allowed = configuration.preloaded_images_verification_allowlist
    if allowed and policy != "NeverVerifyAllowlistedImages":
        hint = "set imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages"
        yield DocumentError("$.preloadedImagesVerificationAllowlist", f"has no meaning with {policy!r}", hint)
    for index, pattern in enumerate(allowed):
        if mistake := _allowlist_fault(pattern):
            where = f"$.preloadedImagesVerificationAllowlist[{index}]"
            yield DocumentError(where, mistake, "write registry/path/name, or registry/path/*")


def _allowlist_fault(pattern: str) -> str | None:
    bare = pattern.removesuffix("/*")
    if not bare:
        return f"{pattern!r} names no image"
    if pattern != pattern.strip() or "*" in bare:
        return f"{pattern!r}: a wildcard stands only at the end, after a slash"
    if "@" in bare or ":" in bare.rpartition("/")[2]:
        return f"{pattern!r}: tags and digests are not matched"
    return None


def _shutdown(configuration: KubeletConfiguration, gates: FeatureGates) -> Iterator[DocumentError]:
    total, critical = configuration.shutdown_grace_period, configuration.shutdown_grace_period_critical_pods
    for name, period in (("shutdownGracePeriod", total), ("shutdownGracePeriodCriticalPods", critical)):
        if period != 0 and period < SECOND_NS:
            yield DocumentError(f"$.{name}", f"is {format_duration_ns(period)}", "give 0s or at least 1s")
        if period != 0 and not gates.enabled("GracefulNodeShutdown"):
            hint = "set featureGates.GracefulNodeShutdown: true"
            yield DocumentError(f"$.{name}", "needs the feature gate GracefulNodeShutdown", hint)
    if critical > total:
        reason = f"{format_duration_ns(critical)} is above shutdownGracePeriod {format_duration_ns(total)}"
        yield DocumentError("$.shutdownGracePeriodCriticalPods", reason, "it is a part of the total; lower it")
    path = "$.shutdownGracePeriodByPodPriority"
    by_priority = configuration.shutdown_grace_period_by_pod_priority
    if by_priority and (total or critical):
        yield DocumentError(path, "excludes shutdownGracePeriod and shutdownGracePeriodCriticalPods", "keep one form")
    if by_priority and not gates.enabled("GracefulNodeShutdownBasedOnPodPriority"):
        hint = "set featureGates.GracefulNodeShutdownBasedOnPodPriority: true"
        yield DocumentError(path, "needs the feature gate GracefulNodeShutdownBasedOnPodPriority", hint)
    seen: set[int] = set()
    for index, entry in enumerate(by_priority):
        if entry.shutdown_grace_period_seconds < 0:
            where = f"{path}[{index}].shutdownGracePeriodSeconds"
            yield DocumentError(where, "must not be negative", "give seconds of 0 or more")
        if entry.priority in seen:
            yield DocumentError(f"{path}[{index}].priority", f"{entry.priority} is given twice", "keep one")
        seen.add(entry.priority)


def _gated(configuration: KubeletConfiguration, gates: FeatureGates) -> Iterator[DocumentError]:
    """Fields that need a feature gate."""
    period = configuration.cpu_cfs_quota_period
    gated = (
        ("cpuCFSQuotaPeriod", period != 100_000_000, "CustomCPUCFSQuotaPeriod"),
        (
            "crashLoopBackOff.maxContainerRestartPeriod",
            configuration.crash_loop_back_off.max_container_restart_period is not None,
            "KubeletCrashLoopBackOffMax",
        ),
        ("memoryReservationPolicy", configuration.memory_reservation_policy == "TieredReservation", "MemoryQoS"),
    )
    for path, used, gate in gated:
        if used and not gates.enabled(gate):
            yield DocumentError(f"$.{path}", f"needs the feature gate {gate}", f"set featureGates.{gate}: true")


def _taints(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(configuration.register_with_taints):
        where = f"$.registerWithTaints[{index}]"
        if not taint.key:
            yield DocumentError(f"{where}.key", "is missing", "give the taint a key")
        if taint.effect not in TAINT_EFFECTS:
            yield DocumentError(
                f"{where}.effect", f"{taint.effect!r} is not an effect", f"use one of {', '.join(TAINT_EFFECTS)}"
            )
        if taint.time_added is not None:
            yield DocumentError(f"{where}.timeAdded", "cannot be chosen", "remove it")
        if (taint.key, taint.effect) in seen:
            yield DocumentError(where, f"{taint.key}:{taint.effect} is given twice", "keep one")
        seen.add((taint.key, taint.effect))


def _sysctls(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    for index, text in enumerate(configuration.allowed_unsafe_sysctls):
        name = text.replace("/", ".") if "/" in text.partition(".")[0] else text
        where = f"$.allowedUnsafeSysctls[{index}]"
        bare = name.removesuffix("*")
        if "*" in bare:
            yield DocumentError(where, f"{text!r}: a wildcard stands only at the end", "write prefix.*")
        elif not (name.startswith(("net.", "fs.mqueue.")) or name in IPC_SYSCTLS or _covers_ipc(name)):
            hint = "only net., fs.mqueue. and the kernel.sem, kernel.shm* and kernel.msg* ones have a namespace"
            yield DocumentError(where, f"{text!r} is not known to have a namespace", hint)


def _covers_ipc(name: str) -> bool:
    return name.endswith("*") and name.startswith(("kernel.shm", "kernel.msg", "kernel.sem"))


def _logging(configuration: KubeletConfiguration, gates: FeatureGates) -> Iterator[DocumentError]:
    logging = configuration.logging
    if logging.format == "json" and not gates.enabled("LoggingBetaOptions"):
        hint = "set featureGates.LoggingBetaOptions: true"
        yield DocumentError("$.logging.format", "json needs the feature gate LoggingBetaOptions", hint)
    if logging.vmodule and logging.format != "text":
        yield DocumentError("$.logging.vmodule", f"has no meaning in format {logging.format}", "set format: text")
    for index, entry in enumerate(logging.vmodule):
        where = f"$.logging.vmodule[{index}]"
        if not entry.file_pattern or any(char in entry.file_pattern for char in "=,"):
            yield DocumentError(f"{where}.filePattern", f"{entry.file_pattern!r} is not a pattern", "write file*")
        if entry.verbosity < 0:
            yield DocumentError(f"{where}.verbosity", "must not be negative", "give a level of 0 or more")
    for name, options in (("text", logging.options.text), ("json", logging.options.json)):
        where = f"$.logging.options.{name}"
        try:
            buffered = parse_quantity(options.info_buffer_size).nanos
        except QuantityError as error:
            yield DocumentError(f"{where}.infoBufferSize", str(error), "write 64Ki")
            continue
        if buffered < 0:
            yield DocumentError(f"{where}.infoBufferSize", "is negative", "write 64Ki")
        if (buffered or options.split_stream) and not gates.enabled("LoggingAlphaOptions"):
            hint = "set featureGates.LoggingAlphaOptions: true"
            yield DocumentError(where, "needs the feature gate LoggingAlphaOptions", hint)


def _user_namespaces(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    length = configuration.ids_per_pod
    if length < ID_RANGE or length % ID_RANGE or length >= 2**32:
        reason = f"{length} must be a multiple of {ID_RANGE} below 2^32"
        yield DocumentError("$.userNamespaces.idsPerPod", reason, f"give {ID_RANGE}")


def _rest(configuration: KubeletConfiguration, cgroup_version: int | None) -> Iterator[DocumentError]:
    if configuration.show_hidden_metrics_for_version not in ("", MINOR_BEFORE):
        reason = f"{configuration.show_hidden_metrics_for_version!r} is not the minor version before this one"
        yield DocumentError("$.showHiddenMetricsForVersion", reason, f'write "{MINOR_BEFORE}", or remove it')
    if configuration.run_once:
        yield DocumentError("$.runOnce", "running once is gone", "remove it")
    if configuration.enable_system_log_query and not configuration.enable_system_log_handler:
        hint = "set enableSystemLogHandler: true"
        yield DocumentError("$.enableSystemLogQuery", "needs enableSystemLogHandler", hint)
    if configuration.single_process_oom_kill is False and cgroup_version == 1:
        reason = "cannot be false on cgroup v1, which always kills single processes"
        yield DocumentError("$.singleProcessOOMKill", reason, "remove it, or use cgroup v2")
    factor = configuration.memory_throttling_factor
    if not 0 < factor <= 1:
        yield DocumentError("$.memoryThrottlingFactor", f"is {factor}, must be above 0 and at most 1", "give 0.9")
    path = "$.containerLogMaxSize"
    try:
        if parse_quantity(configuration.container_log_max_size).is_zero():
            yield DocumentError(path, "must not be zero", "write 10Mi, or -1 to rotate no logs")
    except QuantityError as error:
        yield DocumentError(path, str(error), "write 10Mi")
    if configuration.tracing is not None:
        rate = configuration.tracing.sampling_rate_per_million
        if rate is not None and not 0 <= rate <= 1_000_000:
            where = "$.tracing.samplingRatePerMillion"
            yield DocumentError(where, f"is {rate}, must be between 0 and 1000000", "1000000 samples everything")
        endpoint = configuration.tracing.endpoint
        if endpoint is not None and (fault := collector_fault(endpoint)):
            hint = "give host:port, unix:///path or dns:///host:port, or remove it for localhost:4317"
            yield DocumentError("$.tracing.endpoint", fault, hint)
