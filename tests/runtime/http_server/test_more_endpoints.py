"""Less common paths on the whole server.

Checkpoints, verbosity, manifests, the observer, switches.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.run.node_server import Serving, switches_of
from config.kubelet import KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates
from runtime.http_server.heads import Head, HttpRefusal
from runtime.http_server.paths import EVERYTHING, Switch, asked
from tests.runtime.http_server.clients import Client, Said, ask, said
from tests.runtime.http_server.test_endpoints import LOG, MANIFEST, Served, served

CHECKPOINT = "/checkpoint/default/web-n/main"


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("more")) as found:
        yield found


def post(to: Served, target: str, body: str, method: str = "POST") -> Said:
    return ask(to.port, target, method, to.admin, body)


# (spec 11.2.8)
def test_a_runtime_that_makes_no_checkpoints_says_so(there: Served) -> None:
    answer = there.ask(CHECKPOINT, "POST")
    assert answer.status == 500
    words = "checkpointing of default/web-n/main failed (rpc error: code = Unimplemented desc = "
    assert answer.body.startswith(words), "clients match a kubelet's text"
    assert answer.body.rstrip().endswith(": this container runtime makes no checkpoints")
    assert there.ask(f"{CHECKPOINT}?timeout=soon", "POST").status == 404
    assert there.ask("/checkpoint/default/none/main", "POST").status == 404
    assert there.ask("/checkpoint/default/web-n/none", "POST").status == 404


def test_an_unknown_pod_list_is_503_and_not_an_empty_list(tmp_path: Path) -> None:
    """From an empty list, clients conclude that every pod is gone, and kubectl finds no pod."""
    with served(tmp_path) as silent:
        assert silent.ask("/pods").status == silent.ask(LOG).status == 200
        silent.node.stop()
        for target in ("/pods", LOG):
            answer = silent.ask(target)
            assert (answer.status, answer.body) == (503, "the node cannot say now which pods it has; ask again")


@pytest.mark.parametrize(("gate", "status"), [(False, 400), (True, 200)])
# (spec 11.2.5)
def test_one_stream_of_a_log_is_shown_where_the_gate_is_on(tmp_path: Path, gate: bool, status: int) -> None:
    with served(tmp_path, FeatureGates({"PodLogsQuerySplitStreams": gate})) as found:
        answer = found.ask(f"{LOG}?stream=Stderr")
        assert (answer.status, "PodLogsQuerySplitStreams" in answer.body) == (status, not gate)
        assert found.ask(f"{LOG}?stream=All").status == found.ask(LOG).status == 200


def test_a_query_is_decoded_once(there: Served) -> None:
    answer = there.ask("/debug/pprof/profile?seconds=%2541")
    assert answer.body == "seconds: '%41' is not a number from 1 to 300"


def test_a_command_may_have_many_words() -> None:
    names = [str(number) for number in range(5000)]
    head = Head("POST", "/exec/a/b/c?" + "&".join(f"command={each}" for each in names), ())
    assert [value for _, value in head.query] == names


# (spec 11.2.9)
def test_the_verbosity_of_the_log_is_set(there: Served) -> None:
    before = logging.getLogger().level
    try:
        assert post(there, "/debug/flags/v", "5", "PUT").status == 200
        assert logging.getLogger().level == logging.DEBUG
        assert post(there, "/debug/flags/v", "2", "PUT").status == 200
        assert logging.getLogger().level == logging.INFO
        assert post(there, "/debug/flags/v", "loud", "PUT").status == 400
    finally:
        logging.getLogger().setLevel(before)


def test_manifests_are_taken_listed_and_withdrawn(there: Served) -> None:
    pushed = MANIFEST.replace("web", "pushed")
    answer = post(there, "/manifests", pushed)
    assert answer.status == 201
    (pod,) = json.loads(answer.body)["pods"]
    assert (pod["namespace"], pod["name"], pod["pod"], pod["change"]) == ("default", "pushed", "pushed-n", "created")
    assert post(there, "/manifests", pushed).status == 200
    assert json.loads(there.ask("/manifests").body)["items"][0]["metadata"]["name"] == "pushed"
    assert json.loads(there.ask("/manifests/default/pushed").body)["kind"] == "Pod"
    assert there.ask("/manifests/default/none").status == 404
    bad = post(there, "/manifests", pushed.replace("name: main", "name: Main"))
    told = json.loads(bad.body)
    assert (bad.status, told["reason"]) == (422, "Invalid")
    assert told["details"]["causes"][0]["field"] == "$.spec.containers[0].name"
    assert "$.spec.containers[0].name" in told["message"]
    assert post(there, "/manifests", "").status == 400
    assert there.ask("/manifests/default/pushed", "DELETE").status == 200
    assert there.ask("/manifests/default/pushed", "DELETE").status == 404


def test_a_manifest_that_is_too_large_is_refused(there: Served) -> None:
    head = f"POST /manifests HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: {4 * 2**20}\r\n\r\n"
    client = Client(there.port, there.admin)
    client.send(head)
    with_body = b"x" * 2**20
    try:
        for _ in range(4):
            client.send(with_body)
    except OSError:
        pass
    assert said(client.rest()).status in (0, 413)
    client.close()


def test_browsers_come_to_the_observer_with_a_token_as_their_password(there: Served) -> None:
    refused = ask(there.port, "/ui", "GET", there.nobody)
    assert refused.status == 401
    assert "WWW-Authenticate: Basic" in refused.head
    password = base64.b64encode(b"me:admin-token").decode()
    page = ask(there.port, "/ui", "GET", there.nobody, Authorization=f"Basic {password}")
    assert page.status == 200
    assert "Content-Security-Policy: default-src 'self'" in page.head
    # Nowhere else: other pages of a browser could send it there.
    elsewhere = ask(there.port, "/pods", "GET", there.nobody, Authorization=f"Basic {password}")
    assert elsewhere.status == 401
    assert "WWW-Authenticate" not in elsewhere.head
    assert there.ask("/ui/nothing").status == 404
    assert json.loads(there.ask(f"/ui/pods/{_uid(there)}").body)["name"] == "web-n"
    assert there.ask("/ui/pods/none").status == 404


def test_pages_of_other_sites_do_nothing_with_the_certificate_of_a_person(there: Served) -> None:
    for site in ("cross-site", "same-site"):
        for target, method in (("/manifests", "POST"), ("/run/default/web-n/main?cmd=id", "POST"), ("/pods", "GET")):
            refused = there.ask(target, method, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")
            assert (refused.status, refused.body) == (403, "Forbidden: a page of another site asks")
        assert there.ask("/ui", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 200
    assert there.ask("/pods", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors").status == 200
    assert there.ask("/pods", Sec_Fetch_Site="none", Sec_Fetch_Mode="navigate").status == 200


def _uid(of: Served) -> str:
    return of.node.pods()[0].metadata.uid


SWITCHED: dict[Switch, tuple[str, str, int]] = {
    Switch.DEBUG: ("GET", "/configz", 405),
    Switch.PROFILING: ("GET", "/debug/pprof/cmdline", 405),
    Switch.VERBOSITY: ("PUT", "/debug/flags/v", 405),
    Switch.SYSTEM_LOGS: ("GET", "/logs/", 405),
    Switch.CHECKPOINT: ("POST", CHECKPOINT, 404),
    Switch.STATUSZ: ("GET", "/statusz", 404),
    Switch.FLAGZ: ("GET", "/flagz", 404),
    Switch.MANIFESTS: ("GET", "/manifests", 404),
}


@pytest.mark.parametrize("switch", SWITCHED)
# (spec 11.2.10)
def test_a_disabled_endpoint_says_which_switch_disables_it(switch: Switch) -> None:
    method, path, status = SWITCHED[switch]
    assert asked(method, path, EVERYTHING)
    with pytest.raises(HttpRefusal) as refused:
        asked(method, path, EVERYTHING - {switch})
    assert refused.value.status == status
    assert refused.value.text == switch.value[1]


@pytest.mark.parametrize(
    ("fields", "off"),
    [
        ({}, set()),
        ({"enable_debugging_handlers": False}, {Switch.DEBUG}),
        ({"enable_profiling_handler": False}, {Switch.PROFILING}),
        ({"enable_debug_flags_handler": False}, {Switch.VERBOSITY}),
        ({"enable_system_log_handler": False}, {Switch.SYSTEM_LOGS}),
    ],
)
# (spec 11.2.10)
def test_switches_are_fields_of_the_configuration(tmp_path: Path, fields: dict[str, Any], off: set[Switch]) -> None:
    serving = Serving("n", KubeletConfiguration(**fields), str(tmp_path), ("n",), {})
    assert EVERYTHING - switches_of(serving) == off | {Switch.MANIFESTS}
    gates = FeatureGates({"ContainerCheckpoint": False, "ComponentStatusz": False, "ComponentFlagz": False})
    closed = Serving("n", KubeletConfiguration(**fields), str(tmp_path), ("n",), {}, gates=gates, manifests=True)
    assert EVERYTHING - switches_of(closed) == off | {Switch.CHECKPOINT, Switch.STATUSZ, Switch.FLAGZ}


def test_the_observers_own_port_serves_no_page_of_another_site(there: Served) -> None:
    link = there.server.observe("secret")
    port = int(link.rpartition(":")[2].removesuffix("/ui"))
    host = f"127.0.0.1:{port}"
    password = f"Basic {base64.b64encode(b'me:secret').decode()}"

    def status(target: str = "/ui", asked_for: str = host, **headers: str) -> int:
        return ask(port, target, "GET", None, "", asked_for, Authorization=password, **headers).status

    assert status() == status(Origin=f"http://{host}") == 200
    assert status(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate") == 200
    assert status("/ui/observer.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors") == 403
    assert status(Origin="https://evil.example") == 403
    assert status(asked_for="rebound.example") == 421
