"""Drop-ins are merged over the file in the order of their names, as RFC 7386 says (spec 12.1)."""

from config.kubelet.drop_ins import NamedBytes, merge_documents

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def named(name: str, body: str) -> NamedBytes:
    return NamedBytes(name, (HEADER + body).encode())


# (spec 12.1.3)
def test_the_later_name_wins_whatever_the_order_of_reading() -> None:
    drop_ins = [
        named("/d/20-b.conf", "maxPods: 20\nclusterDNS: [2.2.2.2]"),
        named("/d/10-a.conf", "maxPods: 10\npodsPerCore: 1\nclusterDNS: [1.1.1.1, 1.0.0.1]"),
        named("/d/15/z.conf", "maxPods: 15"),
    ]
    merged = merge_documents(named("/etc/k.yaml", "maxPods: 5\ncontentType: x"), drop_ins)
    assert not merged.faults
    body = {k: v for k, v in merged.document.items() if k not in ("apiVersion", "kind")}
    assert body == {"maxPods": 20, "podsPerCore": 1, "clusterDNS": ["2.2.2.2"], "contentType": "x"}


# (spec 12.1.3)
def test_null_takes_a_field_back() -> None:
    merged = merge_documents(named("/k", "maxPods: 5"), [named("/d/a.conf", "maxPods: null")])
    assert not merged.faults
    assert "maxPods" not in merged.document


# (spec 12.1.3)
def test_only_conf_files_count_and_the_others_are_named() -> None:
    merged = merge_documents(None, [NamedBytes("/d/a.yaml", b"nonsense"), named("/d/b.conf", "maxPods: 3")])
    assert not merged.faults
    assert merged.skipped == ("/d/a.yaml",)
    assert merged.document["maxPods"] == 3


def test_a_fault_names_its_file_and_every_file_is_checked() -> None:
    drop_ins = [named("/d/a.conf", "maxPods: x"), NamedBytes("/d/b.conf", b"maxPods: 3"), named("/d/c.conf", "nope: 1")]
    merged = merge_documents(named("/k", "hairpinMode: none\nport: y"), drop_ins)
    assert [fault.path for fault in merged.faults] == [
        "/k: $.port",
        "/d/a.conf: $.maxPods",
        "/d/b.conf: $.apiVersion",
        "/d/b.conf: $.kind",
        "/d/c.conf: $.nope",
    ]
    assert [warning.path for warning in merged.warnings] == ["/k: $.hairpinMode"]


# (spec 12.1.5)
def test_relative_paths_are_meant_from_the_main_file_but_not_from_drop_ins() -> None:
    body = (
        "staticPodPath: manifests\ntlsCertFile: ../pki/a.crt\ntlsPrivateKeyFile: /abs/a.key\nresolvConf: ''\n"
        "volumePluginDir: plugins/\npodLogsDir: logs\nauthentication: {x509: {clientCAFile: ca.crt}}\n"
    )
    main = merge_documents(named("/etc/kubelet/config.yaml", body)).document
    assert main["staticPodPath"] == "/etc/kubelet/manifests"
    assert main["tlsCertFile"] == "/etc/pki/a.crt"
    assert main["tlsPrivateKeyFile"] == "/abs/a.key"
    assert main["resolvConf"] == ""
    assert main["volumePluginDir"] == "/etc/kubelet/plugins"
    assert main["podLogsDir"] == "/etc/kubelet/logs"
    assert main["authentication"] == {"x509": {"clientCAFile": "/etc/kubelet/ca.crt"}}
    dropped = merge_documents(None, [named("/etc/kubelet/d/a.conf", "staticPodPath: manifests")]).document
    assert dropped["staticPodPath"] == "manifests"
