"""Quotas limit what a namespace may use, and say what it does."""

from __future__ import annotations

from typing import Any

from simulation.apiserver.core import Options
from tests.simulation.apiserver.custom.made import DEFINITIONS, NAME, WIDGETS, definition
from tests.simulation.apiserver.worlds import MERGE, PODS, SECOND_NS, Server, pod

HOME = "/api/v1/namespaces/default"
QUOTA = f"{HOME}/resourcequotas/all"


def limited(hard: Any, options: Options | None = None, **spec: Any) -> Server:
    server = Server(options)
    made = server.ask("POST", f"{HOME}/resourcequotas", {"metadata": {"name": "all"}, "spec": {"hard": hard, **spec}})
    assert made.code == 201, made.value
    return server


def used(server: Server) -> Any:
    return server.get(QUOTA).value["status"].get("used")


def asking(cpu: str, name: str = "web") -> Any:
    return pod(name, containers=[{"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}])


def test_a_new_quota_counts_what_is_there() -> None:
    server = Server()
    server.make_pod()
    server.ask("POST", f"{HOME}/resourcequotas", {"metadata": {"name": "all"}, "spec": {"hard": {"pods": "5"}}})
    assert server.get(QUOTA).value["status"] == {"hard": {"pods": "5"}, "used": {"pods": "1"}}


def test_what_a_request_takes_is_used_at_once_and_given_back_when_it_is_gone() -> None:
    server = limited({"requests.cpu": "1", "count/pods": "9"})
    assert server.ask("POST", PODS, asking("600m")).code == 201
    assert used(server) == {"requests.cpu": "600m", "count/pods": "1"}
    server.ask("DELETE", f"{PODS}/web")
    server.world.run_for(SECOND_NS)
    assert used(server) == {"requests.cpu": "0", "count/pods": "0"}


def test_a_request_beyond_a_quota_is_refused_and_uses_nothing() -> None:
    server = limited({"requests.cpu": "1", "pods": "9"})
    server.ask("POST", PODS, asking("600m"))
    refused = server.ask("POST", PODS, asking("500m", "other"))
    assert (refused.code, refused.message) == (
        403,
        'pods "other" is forbidden: exceeded quota: all, requested: requests.cpu=500m, '
        "used: requests.cpu=600m, limited: requests.cpu=1",
    )
    assert used(server) == {"requests.cpu": "600m", "pods": "1"}


def test_a_pod_must_say_what_is_limited() -> None:
    refused = limited({"limits.cpu": "1"}).ask("POST", PODS, pod())
    assert refused.message == 'pods "web" is forbidden: failed quota: all: must specify limits.cpu for: main'


def test_a_dry_run_and_a_taken_name_use_nothing() -> None:
    server = limited({"pods": "5"})
    assert server.ask("POST", PODS, pod(), dryRun="All").code == 201
    assert used(server) == {"pods": "0"}
    server.make_pod()
    assert server.ask("POST", PODS, pod()).code == 409
    assert used(server) == {"pods": "1"}


def test_a_pod_that_has_ended_gives_back_what_it_used() -> None:
    server = limited({"pods": "1"})
    server.make_pod()
    server.ask("PATCH", f"{PODS}/web/status", {"status": {"phase": "Succeeded"}}, content_type=MERGE)
    server.world.run_for(SECOND_NS)
    assert used(server) == {"pods": "0"}


def test_a_changed_quota_is_counted_anew() -> None:
    server = limited({"pods": "1"})
    server.make_pod()
    change = {"spec": {"hard": {"pods": None, "count/configmaps": "9"}}}
    server.ask("PATCH", QUOTA, change, content_type=MERGE)
    expected = {"hard": {"count/configmaps": "9"}, "used": {"count/configmaps": "1"}}
    assert server.get(QUOTA).value["status"] == expected
    server.ask("DELETE", f"{HOME}/configmaps/kube-root-ca.crt")
    server.world.run_for(SECOND_NS)
    assert used(server) == {"count/configmaps": "0"}


def test_only_objects_in_the_scopes_of_a_quota_count() -> None:
    server = limited({"pods": "0"}, scopes=["BestEffort"])
    assert server.ask("POST", PODS, asking("1")).code == 201
    assert server.ask("POST", PODS, pod("other")).code == 403
    assert used(server) == {"pods": "0"}


def test_custom_objects_can_be_counted() -> None:
    server = Server()
    assert server.ask("POST", DEFINITIONS, definition()).code == 201
    hard = {"hard": {f"count/{NAME}": "0"}}
    server.ask("POST", f"{HOME}/resourcequotas", {"metadata": {"name": "all"}, "spec": hard})
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"}}
    refused = server.ask("POST", WIDGETS, widget)
    assert (refused.code, "exceeded quota: all" in refused.message) == (403, True)


def test_another_type_of_service_may_use_more() -> None:
    server = limited({"services.nodeports": "1"})
    services = f"{HOME}/services"
    for name in ("one", "two"):
        assert server.ask("POST", services, {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}).code == 201
    change = {"spec": {"type": "NodePort"}}
    assert server.ask("PATCH", f"{services}/one", change, content_type=MERGE).code == 200
    assert server.ask("PATCH", f"{services}/two", change, content_type=MERGE).code == 403
    server.ask("PATCH", f"{services}/one", {"spec": {"type": "ClusterIP"}}, content_type=MERGE)
    server.world.run_for(SECOND_NS)
    assert server.ask("PATCH", f"{services}/two", change, content_type=MERGE).code == 200


def test_beside_a_controller_manager_the_server_leaves_the_status_to_that() -> None:
    server = limited({"pods": "1"}, Options(quota_usage=False))
    server.make_pod("early")
    assert server.get(QUOTA).value["status"] == {}
    known = {"status": {"hard": {"pods": "2"}, "used": {"pods": "1"}}}
    server.ask("PATCH", f"{QUOTA}/status", known, content_type=MERGE)
    server.make_pod()
    assert used(server) == {"pods": "2"}
    assert server.ask("POST", PODS, pod("third")).code == 403


def test_a_quota_whose_use_is_unknown_lets_nothing_pass() -> None:
    server = limited({"pods": "1"}, Options(quota_usage=False))
    server.ask("PATCH", f"{QUOTA}/status", {"status": {"hard": {"pods": "2"}}}, content_type=MERGE)
    refused = server.ask("POST", PODS, pod())
    assert refused.message == 'pods "web" is forbidden: status unknown for quota: all, resources: pods'


def test_a_cut_watch_misses_nothing() -> None:
    server = limited({"pods": "5"})
    server.make_pod()
    server.server.cut_watches()
    server.ask("DELETE", f"{PODS}/web")
    server.world.run_for(SECOND_NS)
    assert used(server) == {"pods": "0"}
    server.make_pod()
    server.ask("DELETE", f"{PODS}/web")
    server.world.run_for(SECOND_NS)
    assert used(server) == {"pods": "0"}


def test_a_status_that_somebody_else_wrote_is_counted_anew_within_five_minutes() -> None:
    server = limited({"pods": "5"})
    server.ask("PATCH", f"{QUOTA}/status", {"status": {"hard": {"pods": "9"}}}, content_type=MERGE)
    server.world.run_for(60 * SECOND_NS)
    assert server.get(QUOTA).value["status"]["hard"] == {"pods": "9"}
    server.world.run_for(300 * SECOND_NS)
    assert server.get(QUOTA).value["status"]["hard"] == {"pods": "5"}
