"""Drop-ins lie over the file in the order of their names, as RFC 7386 merges (spec 12.1)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.drop_ins import NamedBytes, merge_documents, merge_patch

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def named(name: str, body: str) -> NamedBytes:
    return NamedBytes(name, (HEADER + body).encode())


# The examples of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_documents_merge_as_the_rfc_says(original: Any, patch: Any, result: Any) -> None:
    assert merge_patch(original, patch) == result


_JSON = st.recursive(
    st.one_of(st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)


@given(_JSON, _JSON)
def test_merging_twice_changes_nothing_more(original: Any, patch: Any) -> None:
    once = merge_patch(original, patch)
    assert merge_patch(once, patch) == once


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


def test_null_takes_a_field_back() -> None:
    merged = merge_documents(named("/k", "maxPods: 5"), [named("/d/a.conf", "maxPods: null")])
    assert not merged.faults
    assert "maxPods" not in merged.document


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
