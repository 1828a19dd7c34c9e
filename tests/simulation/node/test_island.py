"""An island node loses power while its API server is away, starts its pods, and meets it again."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from actors.island.actor import IslandActor
from actors.island.rules import ANNOTATION
from cli.inspect.explanation import headline, next_lines
from cli.inspect.local_views import PODS, explanation, pods_in, views_of
from cli.inspect.pod_choice import NoSuchPodError
from cli.inspect.pods import line_of
from cli.run.observer_view import look
from config.island import IslandSettings
from runtime.api import ApiError
from runtime.metrics.own import ISLAND_PODS
from runtime.state.opaque_file import ISLAND, LocalOpaqueFile
from simulation.cri.behaviour import PREFIX
from simulation.node.simulated_node import ROOT
from tests.simulation.node.island_world import ISLAND_FILE, Island, pod_of
from tests.simulation.node.storage_cluster import StorageCluster
from tests.simulation.node.test_api_server import MINUTE
from tests.simulation.node.worlds import SECOND, container, let_fail
from tests.simulation.recorded import differences_of, record_agents

SECRET = "a-word-that-nobody-guesses"


def test_pods_start_from_memory_after_a_power_cut_without_the_api_server_and_reunion_restarts_nothing():
    island = Island()
    island.create("web")
    island.create("other")
    island.until(lambda: island.all_are("Running", 2))
    island.run(10 * SECOND)
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["other", "web"])
    assert island.from_memory() == 2
    before = dict(island.starts)
    island.come_back()
    assert island.all_are("Running", 2)
    assert island.running() == ["other", "web"]
    assert dict(island.starts) == before
    assert island.from_memory() == 0


def test_a_node_that_is_no_island_starts_nothing_without_the_api_server():
    island = Island(settings=None)
    island.create("web")
    island.until(lambda: island.all_are("Running", 1))
    island.go_away()
    island.lose_power()
    island.run(10 * MINUTE)
    assert island.running() == []
    assert not island.node.host.tree.exists(ISLAND_FILE)
    assert island.node.node.island() is None


def test_a_pod_that_was_deleted_meanwhile_ends_at_reunion():
    island = Island()
    island.create("stays")
    island.create("goes")
    island.until(lambda: island.all_are("Running", 2))
    island.run(10 * SECOND)
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["goes", "stays"])
    island.delete("goes", 0)
    island.come_back()
    assert island.running() == ["stays"]
    assert list(island.pods()) == ["stays"]


def test_pods_that_must_not_run_twice_are_not_started_from_memory():
    island = Island()
    island.create("web")
    island.create("told", annotations={ANNOTATION: "never"})
    island.create("once", restartPolicy="Never")
    island.create_owned("db", "StatefulSet")
    island.until(lambda: island.all_are("Running", 4))
    island.run(10 * SECOND)
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["web"])
    island.run(5 * MINUTE)
    assert island.running() == ["web"]
    island.come_back()
    assert island.running() == ["db", "told", "web"]
    assert island.phases()["once"] == "Failed"


def test_a_pod_that_has_finished_while_the_server_was_away_does_not_run_again():
    island = Island()
    behaviour = {f"{PREFIX}run-for.app": "30s"}
    island.create("job", restartPolicy="OnFailure", annotations=behaviour)
    island.create("web")
    island.until(lambda: island.all_are("Running", 2))
    island.run(5 * SECOND)
    island.go_away()
    island.run(MINUTE)
    assert island.running() == ["web"]
    island.forget("job")
    island.lose_power()
    island.until(lambda: island.running() == ["web"])
    island.run(5 * MINUTE)
    assert island.starts["job"] == 1


def test_a_memory_that_is_too_old_starts_nothing_and_leaves_alone_what_runs():
    island = Island(settings=IslandSettings(max_age_ns=10 * MINUTE))
    island.create("web")
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    island.go_away()
    island.run(30 * MINUTE)
    island.node.restart_agent()
    island.run(5 * MINUTE)
    assert island.running() == ["web"]
    assert island.starts["web"] == 1
    island.lose_power()
    island.run(10 * MINUTE)
    assert island.running() == []
    state = island.node.node.island()
    assert state is not None
    assert "old" in state.refusal
    island.come_back()
    assert island.running() == ["web"]


def test_a_restart_of_the_agent_alone_restarts_no_pod_of_any_kind():
    island = Island()
    island.create("web")
    island.create_owned("db", "StatefulSet")
    island.until(lambda: island.all_are("Running", 2))
    island.run(10 * SECOND)
    island.go_away()
    island.node.restart_agent()
    island.run(10 * MINUTE)
    island.come_back()
    assert island.running() == ["db", "web"]
    assert (island.starts["web"], island.starts["db"]) == (1, 1)


def with_objects(island: Island) -> None:
    secret = b64encode(SECRET.encode()).decode()
    namespace = "/api/v1/namespaces/default"
    island.ask("POST", f"{namespace}/configmaps", {"metadata": {"name": "settings"}, "data": {"key": "value"}})
    island.ask("POST", f"{namespace}/secrets", {"metadata": {"name": "hidden"}, "data": {"key": secret}})
    ports = [{"port": 80}]
    island.ask("POST", f"{namespace}/services", {"metadata": {"name": "front"}, "spec": {"ports": ports}})
    island.run(2 * SECOND)


def variable(name: str, kind: str, of: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {f"{kind}KeyRef": {"name": of, "key": "key"}}}


def environment(island: Island, pod: str) -> dict[str, str]:
    """Of the newest running container of the pod."""
    found = [each for each in island.live() if pod_of(each) == pod]
    return {each.key: bytes(each.value).decode() for each in found[-1].config.envs}


def test_config_maps_and_services_come_from_memory_and_secrets_do_not():
    island = Island()
    with_objects(island)
    volumes = [{"name": "files", "configMap": {"name": "settings"}}]
    mounted = container(
        env=[variable("SETTING", "configMap", "settings")], volumeMounts=[{"name": "files", "mountPath": "/files"}]
    )
    island.create("plain", containers=[mounted], volumes=volumes)
    island.create("hidden", containers=[container(env=[variable("HIDDEN", "secret", "hidden")])])
    island.until(lambda: island.all_are("Running", 2))
    island.run(10 * SECOND)
    assert SECRET not in island.file()
    assert b64encode(SECRET.encode()).decode() not in island.file()
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["plain"])
    found = environment(island, "plain")
    assert found["SETTING"] == "value"
    assert found["FRONT_SERVICE_PORT"] == "80"
    island.come_back()
    assert island.running() == ["hidden", "plain"]


def test_secrets_come_from_memory_if_they_are_kept():
    island = Island(settings=IslandSettings(keep_secrets=True))
    with_objects(island)
    island.create("hidden", containers=[container(env=[variable("HIDDEN", "secret", "hidden")])])
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    assert island.remembered("Secret") == ["hidden"]
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["hidden"])
    assert environment(island, "hidden")["HIDDEN"] == SECRET


def with_token(island: Island) -> None:
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}
    labels = {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}
    mounted = container(volumeMounts=[{"name": "access", "mountPath": "/access"}])
    volumes = [{"name": "access", "projected": {"sources": [token, labels]}}]
    island.create("web", containers=[mounted], volumes=volumes, serviceAccountName="default")
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)


def files(island: Island) -> set[str]:
    """The files of the token's volume."""
    tree = island.node.host.tree
    pods = f"{ROOT}/pods"
    (uid,) = tree.names_if_any(pods)
    return set(tree.names_if_any(f"{pods}/{uid}/volumes/kubernetes.io~projected/access"))


def test_a_volume_is_made_without_its_token_which_comes_at_reunion():
    island = Island()
    with_token(island)
    assert "token" in files(island)
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["web"])
    assert "name" in files(island)
    assert "token" not in files(island)
    before = island.starts["web"]
    island.come_back()
    island.run(2 * MINUTE)
    assert "token" in files(island)
    assert island.starts["web"] == before


def test_a_restart_of_the_agent_alone_takes_no_token_away():
    island = Island()
    with_token(island)
    island.go_away()
    island.node.restart_agent()
    island.run(10 * MINUTE)
    assert "token" in files(island)


def test_a_pod_waits_for_its_token_if_it_is_told_to():
    island = Island(settings=IslandSettings(omits_tokens=False))
    with_token(island)
    island.go_away()
    island.lose_power()
    island.run(10 * MINUTE)
    assert island.running() == []
    island.come_back()
    assert island.running() == ["web"]


def test_a_pod_that_a_label_of_the_node_chose_is_admitted_from_memory():
    island = Island()
    node = island.ask("GET", "/api/v1/nodes/node")
    node["metadata"]["labels"]["kind"] = "edge"
    island.ask("PUT", "/api/v1/nodes/node", node)
    island.run(5 * SECOND)
    island.create("web", nodeSelector={"kind": "edge"})
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["web"])
    island.come_back()
    assert island.phases() == {"web": "Running"}


def test_a_status_of_a_pod_is_no_reason_to_write():
    island = Island()
    island.create("crashes", annotations={f"{PREFIX}run-for.app": "5s", f"{PREFIX}exit-code.app": "1"})
    island.run(30 * SECOND)
    writes: list[str] = []
    tree = island.node.host.tree
    tree.before_change = lambda path: writes.append(path) if path == ISLAND_FILE else None
    island.run(4 * MINUTE)
    assert len(writes) <= 1


def test_people_see_that_a_pod_is_from_memory_and_how_old_that_is():
    island = Island()
    island.create("web")
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    agent = island.node.node
    assert explanation(agent, "web").remembered == ""
    island.go_away()
    island.lose_power(10 * MINUTE)
    island.until(lambda: island.running() == ["web"])
    agent = island.node.node
    told = explanation(agent, "web")
    assert "from memory" in headline(told)
    assert any(
        "the API server is away, so the pod is from memory, as it was 10 min" in each for each in next_lines(told)
    )
    assert any(each.text.startswith("StartedFromMemory") for each in told.happened)
    (shown,) = pods_in(views_of(agent)[PODS]().body)
    assert line_of(shown, agent.wall_ns()).status == "Running (from memory)"
    assert json.loads(look(agent, "1")[f"pod/{shown.metadata.uid}"])["status"] == "Running (from memory)"
    assert agent.meters.value(ISLAND_PODS) == 1
    assert not agent.late_actors()
    island.come_back()
    told = explanation(agent, "web")
    assert "from memory" not in headline(told)
    assert agent.meters.value(ISLAND_PODS) == 0


def test_people_hear_why_nothing_is_started_from_memory():
    island = Island(settings=IslandSettings(max_age_ns=MINUTE))
    island.create("web")
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    island.go_away()
    island.lose_power(10 * MINUTE)
    island.run(MINUTE)
    with pytest.raises(NoSuchPodError, match="nothing is started from memory: it is 11 min"):
        explanation(island.node.node, "web")


def test_a_server_that_refuses_is_there_and_nothing_is_started_from_memory():
    island = Island()
    island.create("web")
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    island.api.refusal = ApiError(403, "Forbidden", "the node was removed", "list pods")
    island.lose_power()
    island.run(5 * MINUTE)
    assert island.running() == []


def test_pods_start_soon_although_the_server_neither_answers_nor_refuses():
    island = Island()
    with_token(island)
    island.api.hangs = lambda _: True
    island.api.cut_watches()
    island.lose_power()
    took = island.until(lambda: island.running() == ["web"])
    assert took <= 20 * SECOND
    island.api.hangs = None
    island.run(5 * MINUTE)
    assert island.phases() == {"web": "Running"}
    assert "token" in files(island)


@pytest.mark.parametrize("content", [b"", b"torn", b'{"version": 2}'])
def test_a_damaged_memory_starts_nothing_and_the_next_agreement_mends_it(content: bytes):
    island = Island()
    island.create("web")
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    island.go_away()
    island.node.lose_power()
    island.node.host.tree.write(ISLAND_FILE, content, 0o600)
    island.node.boot()
    island.node.restart_agent()
    island.run(5 * MINUTE)
    assert island.running() == []
    island.come_back()
    assert island.running() == ["web"]
    assert island.remembered() == ["web"]


def test_a_memory_that_begins_anew_is_told_all_again(monkeypatch: pytest.MonkeyPatch):
    let_fail(monkeypatch, IslandActor)
    island = Island()
    with_objects(island)
    island.create("goes")
    island.create("web", containers=[container(env=[variable("SETTING", "configMap", "settings")])])
    island.until(lambda: island.all_are("Running", 2))
    island.delete("goes", 0)
    island.fail()
    island.run(MINUTE)
    assert (island.remembered(), island.remembered("ConfigMap")) == (["web"], ["settings"])
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["web"])
    island.fail()
    island.run(2 * MINUTE)
    assert island.from_memory() == 1
    assert island.starts["web"] == 2
    island.come_back()
    assert (island.from_memory(), island.starts["web"]) == (0, 2)


def test_the_file_is_for_root_alone(tmp_path: Path):
    LocalOpaqueFile(str(tmp_path), ISLAND).save(b'{"version": 1}')
    assert (tmp_path / ISLAND).stat().st_mode & 0o777 == 0o600


class StorageIsland(Island, StorageCluster):
    """An island with a storage driver."""


@pytest.mark.parametrize("attach", [False, True])
def test_a_claim_comes_from_memory_unless_the_cluster_attaches_its_volume(attach: bool):
    island = StorageIsland(attach=attach)
    island.claim()
    island.bind()
    island.make()
    if attach:
        island.until(lambda: bool(island.in_use()), MINUTE)
        island.attach()
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    assert island.remembered("PersistentVolume") == ["pv-claim"]
    island.go_away()
    island.lose_power()
    island.run(2 * MINUTE)
    assert island.running() == ([] if attach else ["web"])
    island.come_back()
    assert island.running() == ["web"]


def test_a_recorded_island_lives_again(monkeypatch: pytest.MonkeyPatch):
    runs = record_agents(monkeypatch)
    island = Island()
    island.create("web")
    island.until(lambda: island.all_are("Running", 1))
    island.run(10 * SECOND)
    island.go_away()
    island.lose_power()
    island.until(lambda: island.running() == ["web"])
    island.come_back()
    assert len(runs) == 2
    assert all(differences_of(run)[1] == [] for run in runs)
