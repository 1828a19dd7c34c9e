"""Which form of `/statusz` and `/flagz` somebody gets, and what is in it."""

from __future__ import annotations

import json

import pytest
import yaml

from runtime.http_server.heads import HttpRefusal
from runtime.http_server.zpages import FLAGZ, JSON, STATUSZ, TEXT, YAML, Wanted, flagz, statusz, wanted

NAMED = "g=config.k8s.io;v=v1beta1;as=Statusz"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Wanted(TEXT)),
        ("*/*", Wanted(TEXT)),
        ("text/plain", Wanted(TEXT)),
        ("text/html, text/*;q=0.5", Wanted(TEXT)),
        (f"application/json;{NAMED}", Wanted(JSON, "v1beta1")),
        (f"application/yaml; {NAMED.replace(';', ' ; ')}", Wanted(YAML, "v1beta1")),
        (f"APPLICATION/JSON;{NAMED}", Wanted(JSON, "v1beta1")),
        (f"application/*;{NAMED}", Wanted(JSON, "v1beta1")),
        (f"application/json;{NAMED.replace('v1beta1', 'v1alpha1')}", Wanted(JSON, "v1alpha1")),
        (f"text/plain;q=0.1, application/json;{NAMED}", Wanted(JSON, "v1beta1")),
        (f"application/json;{NAMED};q=0.1, text/plain;q=0.2", Wanted(TEXT)),
        ("application/json, text/plain", Wanted(TEXT)),
    ],
)
# (spec 11.2.9)
def test_the_accept_header_chooses_the_form(accept: str, expected: Wanted) -> None:
    assert wanted(accept, STATUSZ) == expected


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/json;as=Statusz",
        "application/json;v=v1beta1;as=Statusz",
        "application/json;g=config.k8s.io;v=v2;as=Statusz",
        "application/json;g=config.k8s.io;v=v1beta1;as=Flagz",
        f"text/plain;{NAMED}",
        f"application/vnd.kubernetes.protobuf;{NAMED}",
        "text/plain;q=0",
        "text/plain;q=none",
        ";;;,,=",
    ],
)
def test_an_unknown_zpages_form_is_406(accept: str) -> None:
    with pytest.raises(HttpRefusal) as refused:
        wanted(accept, STATUSZ)
    assert refused.value.status == 406
    assert "as=Statusz" in refused.value.text


def asked(accept: str) -> str:
    facts = {"version": "v1.36.2+actorlet.1", "began_s": 1_767_323_045.0, "now_s": 1_767_326_706.5}
    return statusz(accept, **facts, python="3.11.2", paths=("/healthz", "/metrics/cadvisor", "/metrics", "/")).text  # type: ignore[arg-type]


# (spec 11.2.9)
def test_statusz_says_what_runs_since_when() -> None:
    assert json.loads(asked(f"application/json;{NAMED}")) == {
        "kind": "Statusz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "kubelet"},
        "startTime": "2026-01-02T03:04:05Z",
        "uptimeSeconds": 3661,
        "goVersion": "",
        "binaryVersion": "1.36.2+actorlet.1",
        "emulationVersion": "1.36",
        "paths": ["/healthz", "/metrics"],
    }
    assert yaml.safe_load(asked(f"application/yaml;{NAMED}")) == json.loads(asked(f"application/json;{NAMED}"))
    lines = asked("").splitlines()
    assert lines[1] == "kubelet statusz"
    assert lines[4:6] == ["Started: Fri Jan  2 03:04:05 UTC 2026", "Up: 1 hr 01 min 01 sec"]
    assert lines[-1] == "Paths: /healthz /metrics"


def test_an_old_version_comes_with_a_warning() -> None:
    page = flagz("application/json;g=config.k8s.io;v=v1alpha1;as=Flagz", {"b": "2", "a": "1"})
    assert json.loads(page.text)["apiVersion"] == "config.k8s.io/v1alpha1"
    assert page.headers["Warning"].startswith('299 - "This version of the flagz endpoint is deprecated')
    assert not flagz("", {}).headers
    assert flagz("", {"b": "2", "a": "1"}).text.splitlines()[-2:] == ["a=1", "b=2"]
    assert FLAGZ in flagz(f"application/yaml;{NAMED.replace('Statusz', 'Flagz')}", {}).text
