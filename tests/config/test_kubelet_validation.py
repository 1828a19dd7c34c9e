"""Every rule of spec 12.2: a value beyond it is one fault at its path, a value at its edge is none."""

import pytest

from config.kubelet import crash_loop_periods, hard_thresholds, validate
from config.kubelet.eviction import DEFAULT_EVICTION_HARD, with_default_thresholds
from config.kubelet.feature_gates import FeatureGates
from tests.config.kubelet_documents import decode_kubelet_configuration

HEADER = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
S = 10**9


def check(body: str, **facts: int) -> list[str]:
    read = decode_kubelet_configuration(HEADER + body.encode())
    assert not read.faults, [str(fault) for fault in read.faults]
    faults = validate(read.configuration, **facts).faults
    assert all(fault.reason and fault.hint for fault in faults)
    return [fault.path.removeprefix("$.") for fault in faults]


NO_SHUTDOWN = (
    "{GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false, WindowsGracefulNodeShutdown: false}"
)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("port: -1", "port"),
        ("port: 65536", "port"),
        ("readOnlyPort: 65536", "readOnlyPort"),
        ("healthzPort: -1", "healthzPort"),
        ("registryPullQPS: -1", "registryPullQPS"),
        ("registryBurst: -1", "registryBurst"),
        ("eventRecordQPS: -1", "eventRecordQPS"),
        ("eventBurst: -1", "eventBurst"),
        ("kubeAPIQPS: -1", "kubeAPIQPS"),
        ("kubeAPIBurst: -1", "kubeAPIBurst"),
        ("oomScoreAdj: -1001", "oomScoreAdj"),
        ("oomScoreAdj: 1001", "oomScoreAdj"),
        ("nodeLeaseDurationSeconds: -1", "nodeLeaseDurationSeconds"),
        ("imageGCHighThresholdPercent: 101", "imageGCHighThresholdPercent"),
        ("imageGCLowThresholdPercent: -1", "imageGCLowThresholdPercent"),
        ("imageGCLowThresholdPercent: 85", "imageGCLowThresholdPercent"),
        ("imageMinimumGCAge: -1s", "imageMinimumGCAge"),
        ("imageMaximumGCAge: -1s", "imageMaximumGCAge"),
        ("imageMaximumGCAge: 2m", "imageMaximumGCAge"),
        ("maxPods: -1", "maxPods"),
        ("podsPerCore: -1", "podsPerCore"),
        ("nodeStatusMaxImages: -2", "nodeStatusMaxImages"),
        ("maxOpenFiles: -1", "maxOpenFiles"),
        ("maxParallelImagePulls: 0", "maxParallelImagePulls"),
        ("maxParallelImagePulls: 2\nserializeImagePulls: true", "maxParallelImagePulls"),
        ("iptablesMasqueradeBit: 32", "iptablesMasqueradeBit"),
        ("iptablesDropBit: -1", "iptablesDropBit"),
        ("containerLogMaxFiles: 1", "containerLogMaxFiles"),
        ("containerLogMaxWorkers: 0", "containerLogMaxWorkers"),
        ("containerLogMaxSize: ten", "containerLogMaxSize"),
        ("containerLogMaxSize: '0'", "containerLogMaxSize"),
        ("containerLogMonitorInterval: 2s", "containerLogMonitorInterval"),
        ("cpuCFSQuotaPeriod: 999us", "cpuCFSQuotaPeriod"),
        ("cpuCFSQuotaPeriod: 1001ms", "cpuCFSQuotaPeriod"),
        ('showHiddenMetricsForVersion: "1.34"', "showHiddenMetricsForVersion"),
        ("featureGates: {LoggingBetaOptions: false}\nlogging: {format: json}", "logging.format"),
        ("featureGates: {CustomCPUCFSQuotaPeriod: false}\ncpuCFSQuotaPeriod: 50ms", "cpuCFSQuotaPeriod"),
        (
            "featureGates: {CPUManagerPolicyBetaOptions: false}\ncpuManagerPolicy: static\n"
            "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}",
            "cpuManagerPolicyOptions.distribute-cpus-across-numa",
        ),
        (
            "featureGates: {GracefulNodeShutdownBasedOnPodPriority: false}\n"
            "shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 2}]",
            "shutdownGracePeriodByPodPriority",
        ),
        ("crashLoopBackOff: {maxContainerRestartPeriod: 999ms}", "crashLoopBackOff.maxContainerRestartPeriod"),
        ("crashLoopBackOff: {maxContainerRestartPeriod: 301s}", "crashLoopBackOff.maxContainerRestartPeriod"),
        (
            "featureGates: {KubeletCrashLoopBackOffMax: false}\ncrashLoopBackOff: {maxContainerRestartPeriod: 9s}",
            "crashLoopBackOff.maxContainerRestartPeriod",
        ),
        ("authorization: {mode: Open}", "authorization.mode"),
        ("cgroupDriver: other", "cgroupDriver"),
        ("cpuManagerPolicy: dynamic", "cpuManagerPolicy"),
        ("memoryManagerPolicy: static", "memoryManagerPolicy"),
        ("topologyManagerPolicy: some", "topologyManagerPolicy"),
        ("topologyManagerScope: node", "topologyManagerScope"),
        ("hairpinMode: maybe", "hairpinMode"),
        ("memorySwap: {swapBehavior: UnlimitedSwap}", "memorySwap.swapBehavior"),
        ("configMapAndSecretChangeDetectionStrategy: Poll", "configMapAndSecretChangeDetectionStrategy"),
        ("memoryReservationPolicy: All", "memoryReservationPolicy"),
        ("memoryReservationPolicy: TieredReservation", "memoryReservationPolicy"),
        ("memoryThrottlingFactor: 0.0", "memoryThrottlingFactor"),
        ("memoryThrottlingFactor: 1.01", "memoryThrottlingFactor"),
        ("imagePullCredentialsVerificationPolicy: Sometimes", "imagePullCredentialsVerificationPolicy"),
        ("preloadedImagesVerificationAllowlist: [a/b]", "preloadedImagesVerificationAllowlist"),
        (
            "imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\n"
            "preloadedImagesVerificationAllowlist: [ok/*, 'a/b:tag']",
            "preloadedImagesVerificationAllowlist[1]",
        ),
        ("podLogsDir: logs", "podLogsDir"),
        ("podLogsDir: /var//log", "podLogsDir"),
        ("podLogsDir: /var/lög", "podLogsDir"),
        ("address: here", "address"),
        ("healthzBindAddress: localhost", "healthzBindAddress"),
        ("podCIDR: 10.0.0.0/99", "podCIDR"),
        ("staticPodURL: ftp://host/x", "staticPodURL"),
        ("systemCgroups: /system", "systemCgroups"),
        ("enforceNodeAllocatable: [pods, pods]", "enforceNodeAllocatable[1]"),
        ("enforceNodeAllocatable: [everything]", "enforceNodeAllocatable[0]"),
        ("enforceNodeAllocatable: [none, pods]", "enforceNodeAllocatable"),
        ("enforceNodeAllocatable: [system-reserved]", "enforceNodeAllocatable[0]"),
        ("enforceNodeAllocatable: [kube-reserved-compressible]", "enforceNodeAllocatable[0]"),
        (
            "kubeReservedCgroup: /k\nenforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]",
            "enforceNodeAllocatable",
        ),
        ("cgroupsPerQOS: false", "enforceNodeAllocatable"),
        ("reservedSystemCPUs: 0-x", "reservedSystemCPUs"),
        ("reservedSystemCPUs: 0-1\nsystemReservedCgroup: /s", "reservedSystemCPUs"),
        ("systemReserved: {disk: 1Gi}", "systemReserved.disk"),
        ("kubeReserved: {cpu: '-1'}", "kubeReserved.cpu"),
        ("kubeReserved: {memory: lots}", "kubeReserved.memory"),
        ("qosReserved: {memory: 50%}", "qosReserved"),
        ("featureGates: {QOSReserved: true}\nqosReserved: {memory: 150%}", "qosReserved.memory"),
        ("featureGates: {QOSReserved: true}\nqosReserved: {cpu: 50%}", "qosReserved.cpu"),
        ("cpuManagerPolicyOptions: {full-pcpus-only: 'true'}", "cpuManagerPolicyOptions"),
        ("cpuManagerPolicy: static\ncpuManagerPolicyOptions: {fast: 'true'}", "cpuManagerPolicyOptions.fast"),
        (
            "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {align-by-socket: 'true'}",
            "cpuManagerPolicyOptions.align-by-socket",
        ),
        (
            "cpuManagerPolicy: static\ncpuManagerPolicyOptions: "
            "{prefer-align-cpus-by-uncorecache: 'true', distribute-cpus-across-numa: 'true'}",
            "cpuManagerPolicyOptions.prefer-align-cpus-by-uncorecache",
        ),
        (
            "topologyManagerPolicyOptions: {max-allowable-numa-nodes: '7'}",
            "topologyManagerPolicyOptions.max-allowable-numa-nodes",
        ),
        (
            "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: -1, limits: {memory: 1Gi}}]",
            "reservedMemory[0].numaNode",
        ),
        ("memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0}]", "reservedMemory[0].limits"),
        (
            "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {cpu: 1}}]",
            "reservedMemory[0].limits.cpu",
        ),
        ("evictionHard: {disk.free: 1Gi}", 'evictionHard["disk.free"]'),
        ("evictionHard: {memory.available: 101%}", 'evictionHard["memory.available"]'),
        ("evictionHard: {memory.available: '0'}", 'evictionHard["memory.available"]'),
        ("evictionSoft: {memory.available: 1Gi}", 'evictionSoft["memory.available"]'),
        ("evictionSoftGracePeriod: {memory.available: soon}", 'evictionSoftGracePeriod["memory.available"]'),
        ("evictionMinimumReclaim: {memory.available: 0%}", 'evictionMinimumReclaim["memory.available"]'),
        ("evictionMaxPodGracePeriod: -1", "evictionMaxPodGracePeriod"),
        ("evictionPressureTransitionPeriod: -1s", "evictionPressureTransitionPeriod"),
        ("tlsCertFile: /a", "tlsPrivateKeyFile"),
        ("tlsPrivateKeyFile: /a", "tlsCertFile"),
        ("tlsCipherSuites: [ROT13]", "tlsCipherSuites[0]"),
        ("tlsCipherSuites: [TLS_AES_128_GCM_SHA256]", "tlsCipherSuites[0]"),
        ("tlsCurvePreferences: [29, 7]", "tlsCurvePreferences[1]"),
        ("tlsMinVersion: TLS12", "tlsMinVersion"),
        ("serverTLSBootstrap: true\nfeatureGates: {RotateKubeletServerCertificate: false}", "serverTLSBootstrap"),
        ("runOnce: true", "runOnce"),
        ("enableSystemLogQuery: true\nenableSystemLogHandler: false", "enableSystemLogQuery"),
        ("shutdownGracePeriod: 500ms", "shutdownGracePeriod"),
        ("shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s", "shutdownGracePeriodCriticalPods"),
        (f"shutdownGracePeriod: 10s\nfeatureGates: {NO_SHUTDOWN}", "shutdownGracePeriod"),
        (
            "shutdownGracePeriod: 10s\n"
            "shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 1}]",
            "shutdownGracePeriodByPodPriority",
        ),
        (
            "shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: -1}]",
            "shutdownGracePeriodByPodPriority[0].shutdownGracePeriodSeconds",
        ),
        ("registerWithTaints: [{effect: NoExecute}]", "registerWithTaints[0].key"),
        ("registerWithTaints: [{key: a, effect: Never}]", "registerWithTaints[0].effect"),
        (
            "registerWithTaints: [{key: a, effect: NoExecute, timeAdded: '2020-01-01T00:00:00Z'}]",
            "registerWithTaints[0].timeAdded",
        ),
        ("tracing: {samplingRatePerMillion: 1000001}", "tracing.samplingRatePerMillion"),
        ("tracing: {samplingRatePerMillion: -1}", "tracing.samplingRatePerMillion"),
        ("tracing: {endpoint: ''}", "tracing.endpoint"),
        ("userNamespaces: {idsPerPod: 65535}", "userNamespaces.idsPerPod"),
        ("userNamespaces: {idsPerPod: 65537}", "userNamespaces.idsPerPod"),
        ("userNamespaces: {idsPerPod: 4294967296}", "userNamespaces.idsPerPod"),
        ("allowedUnsafeSysctls: [vm.swappiness]", "allowedUnsafeSysctls[0]"),
        ("allowedUnsafeSysctls: ['net.*.x']", "allowedUnsafeSysctls[0]"),
        ("logging: {format: xml}", "logging.format"),
        ("logging: {verbosity: -1}", "logging.verbosity"),
        ("logging: {flushFrequency: -1s}", "logging.flushFrequency"),
        ("logging: {format: json, vmodule: [{filePattern: a, verbosity: 1}]}", "logging.vmodule"),
        ("logging: {vmodule: [{filePattern: 'a=b', verbosity: 1}]}", "logging.vmodule[0].filePattern"),
        ("logging: {options: {text: {splitStream: true}}}", "logging.options.text"),
        ("logging: {options: {json: {infoBufferSize: big}}}", "logging.options.json.infoBufferSize"),
        ("featureGates: {NoSuchGate: true}", "featureGates.NoSuchGate"),
        ("featureGates: {NodeSwap: false}", "featureGates.NodeSwap"),
        ("syncFrequency: -1s", "syncFrequency"),
        ("fileCheckFrequency: -1s", "fileCheckFrequency"),
        ("httpCheckFrequency: -1s", "httpCheckFrequency"),
        ("runtimeRequestTimeout: -1s", "runtimeRequestTimeout"),
        ("authentication: {webhook: {cacheTTL: -1s}}", "authentication.webhook.cacheTTL"),
    ],
)
# (spec 6.2.2, 7.1.2, 10.5.1, 12.2.1)
def test_a_broken_rule_is_one_fault_at_its_path(body: str, path: str) -> None:
    assert check(body) == [path]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "port: 1",
        "port: 65535",
        "healthzPort: 0",
        "oomScoreAdj: -1000",
        "nodeStatusMaxImages: -1",
        "imageGCHighThresholdPercent: 100\nimageGCLowThresholdPercent: 99",
        "imageMinimumGCAge: 1m\nimageMaximumGCAge: 61s",
        "maxParallelImagePulls: 5",
        "maxParallelImagePulls: 1\nserializeImagePulls: true",
        "containerLogMonitorInterval: 3s",
        "containerLogMaxSize: '-1'",
        "cpuCFSQuotaPeriod: 1ms",
        "cpuCFSQuotaPeriod: 1s",
        "crashLoopBackOff: {maxContainerRestartPeriod: 1s}",
        "volumeStatsAggPeriod: -1s",
        "memoryThrottlingFactor: 1",
        "featureGates: {MemoryQoS: true}\nmemoryReservationPolicy: TieredReservation",
        "featureGates: {KubeletEnsureSecretPulledImages: false}",
        "featureGates: {KubeletCrashLoopBackOffMax: false}",
        "featureGates: {NodeSwap: true, AllAlpha: false, AllBeta: true}",
        "imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\n"
        "preloadedImagesVerificationAllowlist: [registry:5000/a/*, a/b]",
        "cgroupsPerQOS: false\nenforceNodeAllocatable: []",
        "cgroupsPerQOS: false\nenforceNodeAllocatable: [none]",
        "kubeReservedCgroup: /k\nsystemReservedCgroup: /s\n"
        "enforceNodeAllocatable: [pods, kube-reserved, system-reserved-compressible]",
        "reservedSystemCPUs: 0-3,7",
        "systemReserved: {cpu: 500m, memory: 1Gi, ephemeral-storage: 1Gi, pid: '100'}",
        "systemCgroups: /system\ncgroupRoot: /",
        "evictionHard: {memory.available: 0%, nodefs.available: 100%, pid.available: '5'}",
        "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m30s}",
        "evictionMinimumReclaim: {memory.available: 5%, nodefs.available: 1Gi}",
        "shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 30s",
        "shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 0}]",
        "userNamespaces: {idsPerPod: 4294901760}",
        "allowedUnsafeSysctls: [net.core.somaxconn, kernel.msg*, fs.mqueue.x, 'net.*', kernel/sem]",
        "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {full-pcpus-only: 'true'}",
        "tlsCertFile: /a\ntlsPrivateKeyFile: /b\ntlsMinVersion: VersionTLS13",
        "featureGates: {CPUManagerPolicyAlphaOptions: true}\ncpuManagerPolicy: static\n"
        "cpuManagerPolicyOptions: {align-by-socket: 'true'}",
        "singleProcessOOMKill: true",
        "registerWithTaints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoExecute}]",
        "featureGates: {LoggingAlphaOptions: true}\nlogging: {options: {text: {splitStream: true}}}",
    ],
)
def test_a_value_at_the_edge_of_its_rule_is_in_order(body: str) -> None:
    assert check(body) == []


def test_faults_of_many_fields_are_told_together() -> None:
    assert set(check("port: -1\nmaxPods: -1\nfeatureGates: {X: true}\nevictionSoft: {pid.available: '1'}")) == {
        "port",
        "maxPods",
        "featureGates.X",
        'evictionSoft["pid.available"]',
    }


@pytest.mark.parametrize(("version", "expected"), [(1, ["singleProcessOOMKill"]), (2, []), (None, [])])
# (spec 3.8.6)
def test_single_kills_can_be_switched_off_on_cgroup_v2_only(version: int | None, expected: list[str]) -> None:
    facts = {} if version is None else {"cgroup_version": version}
    assert check("singleProcessOOMKill: false", **facts) == expected


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("clusterDNS: [10.0.0.10, dns]", "$.clusterDNS[1]"),
        ("evictionHard: {containerfs.available: 1Gi}", "$.evictionHard"),
        ("tlsCipherSuites: [TLS_RSA_WITH_RC4_128_SHA]", "$.tlsCipherSuites[0]"),
        ("featureGates: {NodeSwap: true}", "$.featureGates.NodeSwap"),
    ],
)
def test_a_setting_without_effect_is_a_warning(body: str, path: str) -> None:
    read = decode_kubelet_configuration(HEADER + body.encode())
    checked = validate(read.configuration)
    assert not checked.faults
    assert [warning.path for warning in checked.warnings] == [path]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", DEFAULT_EVICTION_HARD),
        ("evictionHard: {}", DEFAULT_EVICTION_HARD),
        ("evictionHard: {memory.available: 5%}", {"memory.available": "5%"}),
        (
            "evictionHard: {memory.available: 5%}\nmergeDefaultEvictionSettings: true",
            {**DEFAULT_EVICTION_HARD, "memory.available": "5%"},
        ),
        ("evictionHard: {memory.available: 0%, pid.available: 100%, containerfs.available: 1Gi}", {}),
    ],
)
# (spec 7.1.3)
def test_hard_thresholds_in_force(body: str, expected: dict[str, str]) -> None:
    read = decode_kubelet_configuration(HEADER + body.encode())
    assert hard_thresholds(with_default_thresholds(read.configuration)) == expected


@pytest.mark.parametrize(
    ("gates", "longest", "expected"),
    [
        ({}, None, (10 * S, 300 * S)),
        ({}, "30s", (10 * S, 30 * S)),
        ({}, "5s", (5 * S, 5 * S)),
        ({"ReduceDefaultCrashLoopBackOffDecay": True}, None, (1 * S, 60 * S)),
        ({"ReduceDefaultCrashLoopBackOffDecay": True}, "300s", (1 * S, 300 * S)),
        ({"KubeletCrashLoopBackOffMax": False}, None, (10 * S, 300 * S)),
    ],
)
# (spec 2.1.6)
def test_crash_loop_periods(gates: dict[str, bool], longest: str | None, expected: tuple[int, int]) -> None:
    body = "featureGates: {" + ", ".join(f"{k}: {str(v).lower()}" for k, v in gates.items()) + "}\n"
    body += f"crashLoopBackOff: {{maxContainerRestartPeriod: {longest}}}" if longest else ""
    configuration = decode_kubelet_configuration(HEADER + body.encode()).configuration
    periods = crash_loop_periods(configuration, FeatureGates(gates))
    assert (periods.initial_ns, periods.max_ns, periods.reset_after_ns) == (*expected, 600 * S)
