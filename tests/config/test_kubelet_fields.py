"""Every field of KubeletConfiguration has its name and default of spec 12.2.

Documents survive a round trip.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from config.kubelet import (
    KubeletConfiguration,
    configuration_document,
    default_configuration,
    legacy_configuration,
)
from config.kubelet.shapes import Scalar, fields_of
from tests.config.kubelet_documents import decode_kubelet_configuration, encode_kubelet_configuration

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "kubelet-config"

WRITTEN_BY_DEFAULT: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "address": "0.0.0.0",
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"cacheTTL": "2m0s", "enabled": True},
        "x509": {},
    },
    "authorization": {
        "mode": "Webhook",
        "webhook": {"cacheAuthorizedTTL": "5m0s", "cacheUnauthorizedTTL": "30s"},
    },
    "cgroupDriver": "cgroupfs",
    "cgroupsPerQOS": True,
    "configMapAndSecretChangeDetectionStrategy": "Watch",
    "containerLogMaxFiles": 5,
    "containerLogMaxSize": "10Mi",
    "containerLogMaxWorkers": 1,
    "containerLogMonitorInterval": "10s",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "contentType": "application/vnd.kubernetes.protobuf",
    "cpuCFSQuota": True,
    "cpuCFSQuotaPeriod": "100ms",
    "cpuManagerPolicy": "none",
    "cpuManagerReconcilePeriod": "10s",
    "crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"},
    "enableControllerAttachDetach": True,
    "enableDebugFlagsHandler": True,
    "enableDebuggingHandlers": True,
    "enableProfilingHandler": True,
    "enableServer": True,
    "enableSystemLogHandler": True,
    "enableSystemLogQuery": False,
    "enforceNodeAllocatable": ["pods"],
    "eventBurst": 100,
    "eventRecordQPS": 50,
    "evictionPressureTransitionPeriod": "5m0s",
    "failCgroupV1": True,
    "failSwapOn": True,
    "fileCheckFrequency": "20s",
    "hairpinMode": "promiscuous-bridge",
    "healthzBindAddress": "127.0.0.1",
    "healthzPort": 10248,
    "httpCheckFrequency": "20s",
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "imageMaximumGCAge": "0s",
    "imageMinimumGCAge": "2m0s",
    "imagePullCredentialsVerificationPolicy": "NeverVerifyPreloadedImages",
    "iptablesDropBit": 15,
    "iptablesMasqueradeBit": 14,
    "kubeAPIBurst": 100,
    "kubeAPIQPS": 50,
    "localStorageCapacityIsolation": True,
    "logging": {
        "flushFrequency": "5s",
        "format": "text",
        "options": {"json": {"infoBufferSize": "0"}, "text": {"infoBufferSize": "0"}},
        "verbosity": 0,
    },
    "makeIPTablesUtilChains": True,
    "maxOpenFiles": 1000000,
    "maxPods": 110,
    "memoryManagerPolicy": "None",
    "memoryReservationPolicy": "None",
    "memorySwap": {},
    "memoryThrottlingFactor": 0.9,
    "mergeDefaultEvictionSettings": False,
    "nodeLeaseDurationSeconds": 40,
    "nodeStatusMaxImages": 50,
    "nodeStatusReportFrequency": "5m0s",
    "nodeStatusUpdateFrequency": "10s",
    "oomScoreAdj": -999,
    "podLogsDir": "/var/log/pods",
    "podPidsLimit": -1,
    "port": 10250,
    "registerNode": True,
    "registryBurst": 10,
    "registryPullQPS": 5,
    "resolvConf": "/etc/resolv.conf",
    "runtimeRequestTimeout": "2m0s",
    "seccompDefault": False,
    "serializeImagePulls": True,
    "shutdownGracePeriod": "0s",
    "shutdownGracePeriodCriticalPods": "0s",
    "streamingConnectionIdleTimeout": "4h0m0s",
    "syncFrequency": "1m0s",
    "topologyManagerPolicy": "none",
    "topologyManagerScope": "container",
    "volumePluginDir": "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",
    "volumeStatsAggPeriod": "1m0s",
}

_ABSENT = """
    staticPodPath staticPodURL staticPodURLHeader readOnlyPort tlsCertFile tlsPrivateKeyFile tlsCipherSuites
    tlsCurvePreferences tlsMinVersion rotateCertificates serverTLSBootstrap preloadedImagesVerificationAllowlist
    enableContentionProfiling clusterDomain clusterDNS kubeletCgroups systemCgroups cgroupRoot singleProcessOOMKill
    cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved podCIDR runOnce maxParallelImagePulls evictionHard
    evictionSoft evictionSoftGracePeriod evictionMinimumReclaim evictionMaxPodGracePeriod podsPerCore
    protectKernelDefaults featureGates systemReserved kubeReserved reservedSystemCPUs showHiddenMetricsForVersion
    systemReservedCgroup kubeReservedCgroup allowedUnsafeSysctls providerID kernelMemcgNotification
    shutdownGracePeriodByPodPriority reservedMemory registerWithTaints tracing imageServiceEndpoint userNamespaces
"""
ABSENT_BY_DEFAULT = _ABSENT.split()


def read(body: str) -> KubeletConfiguration:
    result = decode_kubelet_configuration((HEADER + body).encode())
    assert not result.faults, [str(fault) for fault in result.faults]
    return result.configuration


# (spec 12.2.1)
def test_a_document_of_its_header_alone_gets_every_default() -> None:
    assert configuration_document(read("")) == WRITTEN_BY_DEFAULT


# (spec 12.2.1)
def test_every_field_of_the_table_is_known_and_no_other() -> None:
    assert set(fields_of(KubeletConfiguration)) == {*WRITTEN_BY_DEFAULT, *ABSENT_BY_DEFAULT}


@pytest.mark.skipif(not SHARED.exists(), reason="the public data lie beside our checkouts only")
@pytest.mark.parametrize("before", ["before/v1beta1.yaml", "roundtrip/default/v1beta1.yaml"])
def test_the_public_documents_become_what_they_must(before: str) -> None:
    after = before.replace("before", "after")
    result = decode_kubelet_configuration((SHARED / before).read_bytes())
    assert not result.faults
    assert configuration_document(result.configuration) == yaml.safe_load((SHARED / after).read_text())


@pytest.mark.parametrize(
    ("body", "attribute", "expected"),
    [
        ("maxPods: 0", "max_pods", 110),
        ("port: 0", "port", 10250),
        ("podLogsDir: ''", "pod_logs_dir", "/var/log/pods"),
        ("syncFrequency: 0s", "sync_frequency", 60 * 10**9),
        ("registryPullQPS: 0", "registry_pull_qps", 0),
        ("healthzPort: 0", "healthz_port", 0),
        ("resolvConf: ''", "resolv_conf", ""),
        ("enforceNodeAllocatable: []", "enforce_node_allocatable", ()),
        ("failSwapOn: false", "fail_swap_on", False),
        ("failSwapOn: null", "fail_swap_on", True),
        ("cpuCFSQuotaPeriod: 0s", "cpu_cfs_quota_period", 0),
        ("nodeStatusUpdateFrequency: 20s", "node_status_report_frequency", 20 * 10**9),
        ("nodeStatusUpdateFrequency: 0s", "node_status_report_frequency", 300 * 10**9),
        ("{nodeStatusUpdateFrequency: 20s, nodeStatusReportFrequency: 1m}", "node_status_report_frequency", 60 * 10**9),
        ("maxParallelImagePulls: 2", "serialize_image_pulls", False),
        ("maxParallelImagePulls: 1", "serialize_image_pulls", True),
        ("{maxParallelImagePulls: 2, serializeImagePulls: true}", "serialize_image_pulls", True),
        ("logging: {flushFrequency: 7}", "logging.flush_frequency", 7),
        ("logging: {options: {text: {infoBufferSize: 64}}}", "logging.options.text.info_buffer_size", "64"),
        ("staticPodURLHeader: {A: [b, c]}", "static_pod_url_header", {"A": ("b", "c")}),
        ("userNamespaces: {idsPerPod: 131072}", "ids_per_pod", 131072),
        ("", "ids_per_pod", 65536),
        (
            "featureGates: {KubeletEnsureSecretPulledImages: false}",
            "image_pull_credentials_verification_policy",
            "",
        ),
        (
            "featureGates: {KubeletCrashLoopBackOffMax: false}",
            "crash_loop_back_off.max_container_restart_period",
            None,
        ),
        (
            "featureGates: {ReduceDefaultCrashLoopBackOffDecay: true}",
            "crash_loop_back_off.max_container_restart_period",
            60 * 10**9,
        ),
    ],
)
# (spec 6.2.2)
def test_a_zero_or_another_field_decides_the_default(body: str, attribute: str, expected: object) -> None:
    if body.startswith("{"):
        body = "\n".join(body.strip("{}").split(", "))
    value: Any = read(body)
    for name in attribute.split("."):
        value = getattr(value, name)
    assert value == expected


# (spec 12.1.2)
def test_without_any_file_the_older_open_defaults_hold() -> None:
    legacy = configuration_document(legacy_configuration())
    expected = dict(WRITTEN_BY_DEFAULT, readOnlyPort=10255)
    expected["authentication"] = {
        "anonymous": {"enabled": True},
        "webhook": {"cacheTTL": "2m0s", "enabled": False},
        "x509": {},
    }
    expected["authorization"] = {**WRITTEN_BY_DEFAULT["authorization"], "mode": "AlwaysAllow"}
    assert legacy == expected


_VALUES: dict[type, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(2**31), 2**31 - 1),
    float: st.floats(0.01, 1),
    str: st.text(st.characters(codec="ascii", categories=("L", "N", "P")), max_size=12),
}


@given(st.data())
def test_a_written_configuration_reads_back_equal(data: st.DataObject) -> None:
    fields = [f for f in fields_of(KubeletConfiguration).values() if isinstance(f.shape, Scalar)]
    scalars = [f for f in fields if f.name not in ("apiVersion", "kind")]
    chosen = data.draw(st.lists(st.sampled_from(scalars), unique_by=lambda f: f.name, max_size=8))
    changes = {}
    for field in chosen:
        value = data.draw(_VALUES[field.shape.type])  # type: ignore[union-attr]  # scalars only
        changes[field.attribute] = value if value or not field.default else field.default
    configuration = msgspec.structs.replace(default_configuration(), **changes)
    again = decode_kubelet_configuration(encode_kubelet_configuration(configuration))
    assert not again.faults
    assert again.configuration == configuration
