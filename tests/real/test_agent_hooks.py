"""Lifecycle hooks, restart rules and changes in place on containerd (spec 3.2, 3.4, 3.10, 3.11)."""

from __future__ import annotations

from time import CLOCK_BOOTTIME, clock_gettime
from typing import Any

from tests.real.agent import NODE, Agent
from tests.real.images import BUSYBOX
from tests.real.pods import Truth, Witness, container, pod
from tests.real.waiting import pass_by

OTHER_IMAGE = "actorlet.test/busybox:2"
GRACE_S = 16


def says(what: str, exit_code: int = 0) -> dict[str, Any]:
    """A hook that writes a line into the witness's log."""
    return {"exec": {"command": ["sh", "-c", f"echo {what} >> /witness/log; exit {exit_code}"]}}


def events_of(agent: Agent, name: str) -> list[str]:
    return [
        f"{each.event.reason}: {each.event.message}" for each in agent.events() if each.event.name == f"{name}-{NODE}"
    ]


def test_post_start_runs_in_the_container_and_pre_stop_before_the_stop_signal(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)
    lifecycle = {"postStart": says("hook after start"), "preStop": says("hook before stop")}
    main = witness.container("main", after_s=0.1, lifecycle=lifecycle)
    manifest = agent.drop("hooked.json", pod("hooked", main, volumes=[witness.volume]))
    agent.start()
    agent.await_running("hooked")
    witness.await_said("hook after start", "main begins")
    manifest.unlink()
    truth.await_none("hooked")
    assert witness.said()[2:] == ["hook before stop", "main ends"]


def test_a_container_waits_for_the_post_start_hook_of_the_one_before_it(agent: Agent) -> None:
    witness = Witness(agent.directory)
    slow = {"postStart": {"exec": {"command": ["sh", "-c", "sleep 1.5; echo hook ends >> /witness/log"]}}}
    pair = [witness.container("first", "first", lifecycle=slow), witness.container("second", "second")]
    agent.drop("pair.json", pod("pair", *pair, volumes=[witness.volume]))
    agent.start()
    agent.await_running("pair")
    agent.await_that(lambda: len(witness.said()) == 3, f"{witness.said()}")
    assert witness.said() == ["first begins", "hook ends", "second begins"]


def test_hooks_that_fail_are_told_and_a_failed_post_start_ends_its_container(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)
    begins = witness.container("begins", after_s=0.1, lifecycle={"postStart": says("bad start", 3)})
    agent.drop("begins.json", pod("begins", begins, volumes=[witness.volume], restartPolicy="Never"))
    ends = container(lifecycle={"preStop": {"httpGet": {"port": 1, "path": "/"}}})
    manifest = agent.drop("ends.json", pod("ends", ends))
    agent.start()
    agent.await_running("ends")
    agent.await_that(lambda: agent.status("begins").phase in ("Failed", "Succeeded"), "it did not end")
    assert any(said.startswith("FailedPostStartHook: ") for said in events_of(agent, "begins"))
    assert "Killing: FailedPostStartHook" in events_of(agent, "begins")
    assert [life.attempt for life in truth.lives("begins")] == [0]
    manifest.unlink()
    truth.await_none("ends")
    assert "FailedPreStopHook: PreStopHook failed" in events_of(agent, "ends"), "why is told by explain alone"


def test_an_http_hook_reaches_the_pod_at_its_own_address(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)
    server = (
        "mkdir -p /www/cgi-bin; printf '#!/bin/sh\\necho called $QUERY_STRING >> /witness/log; echo; echo' > "
        "/www/cgi-bin/note; chmod +x /www/cgi-bin/note; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait"
    )
    call = {"httpGet": {"port": "web", "path": "/cgi-bin/note?stop"}}
    listens = {"exec": {"command": ["sh", "-c", "until nc 127.0.0.1 8080 < /dev/null; do sleep 0.1; done"]}}
    main = container(
        script=server,
        ports=[{"name": "web", "containerPort": 8080}],
        lifecycle={"postStart": listens, "preStop": call},
        volumeMounts=[witness.mount],
    )
    manifest = agent.drop("web.json", pod("web", main, volumes=[witness.volume]))
    agent.start()
    agent.await_running("web")
    manifest.unlink()
    truth.await_none("web")
    assert witness.said() == ["called stop"], events_of(agent, "web")


def test_sidecars_run_their_pre_stop_hooks_at_once_and_end_in_their_order(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)
    inits = [
        witness.container(who, who, 0.1, restartPolicy="Always", lifecycle={"preStop": says(f"{who} hook")})
        for who in ("early", "late")
    ]
    main = witness.container("main", after_s=0.1, lifecycle={"preStop": says("main hook")})
    manifest = agent.drop("side.json", pod("side", main, initContainers=inits, volumes=[witness.volume]))
    agent.start()
    agent.await_running("side")
    agent.await_that(lambda: len(witness.said()) == 3, f"{witness.said()}")
    manifest.unlink()
    truth.await_none("side")
    said = witness.said()[3:]
    assert [each for each in said if each.endswith("ends")] == ["main ends", "late ends", "early ends"]
    hooks = [said.index(f"{who} hook") for who in ("main", "late", "early")]
    assert max(hooks) < said.index("late ends"), "no hook waits for the end of a sidecar"
    assert len(said) == 6


def test_another_image_is_another_container_in_the_same_pod(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)

    def form(image: str) -> dict[str, Any]:
        main = witness.container("main", after_s=0.1, lifecycle={"preStop": says("hook")}) | {"image": image}
        made = pod("changed", main, volumes=[witness.volume], restartPolicy="Never")
        made["metadata"]["uid"] = "the-same-pod"
        return made

    agent.drop("changed.json", form(BUSYBOX))
    agent.start()
    agent.await_running("changed")
    witness.await_said("main begins")
    [box] = truth.sandboxes("changed")
    agent.drop("changed.json", form(OTHER_IMAGE))
    agent.await_that(lambda: len(truth.lives("changed")) == 2 and truth.lives("changed")[-1].running, "not restarted")
    agent.await_running("changed")
    assert [each.id for each in truth.sandboxes("changed")] == [box.id]
    agent.await_that(lambda: len(witness.said()) == 4, f"{witness.said()}")
    assert witness.said() == ["main begins", "hook", "main ends", "main begins"]


def test_one_end_restarts_all_containers_in_place(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
    script = "if test -e /witness/once; then sleep 1000000; else touch /witness/once; sleep 1; exit 42; fi"
    source = container("source", script, volumeMounts=[witness.mount], restartPolicy="Never", restartPolicyRules=rules)
    inits = [witness.passing("setup")]
    spec: dict[str, Any] = {"initContainers": inits, "volumes": [witness.volume], "restartPolicy": "Never"}
    agent.drop("all.json", pod("all", witness.container("main", after_s=5), source, **spec))
    agent.start()
    begun = ["setup begins", "setup ends", "main begins"]
    agent.await_that(lambda: witness.said() == [*begun, *begun], f"{witness.said()}")
    agent.await_running("all")
    assert len(truth.sandboxes("all")) == 1
    counts = {each.name: each.restart_count for each in agent.status("all").container_statuses}
    assert counts == {"main": 1, "source": 1}
    conditions = {each.type: each.status for each in agent.status("all").conditions}
    assert conditions["AllContainersRestarting"] == "False"


def test_killed_while_a_hook_runs_the_next_agent_does_not_run_it_again_and_keeps_to_the_grace(
    agent: Agent, truth: Truth
) -> None:
    """Of containers that hear no signal.

    The first gets what is left of the grace that it was given by the agent before. The end of the second begins under
    the next agent, which gives it all of the same grace.
    """
    witness = Witness(agent.directory)

    def deaf(name: str) -> dict[str, Any]:
        drain = {"exec": {"command": ["sh", "-c", f"echo {name} drains >> /witness/log; sleep 600"]}}
        script = f"trap '' TERM; while true; do cat /proc/uptime >> /witness/{name}; sleep 0.1; done"
        main = container("main", script, volumeMounts=[witness.mount], lifecycle={"preStop": drain})
        return pod(name, main, volumes=[witness.volume], terminationGracePeriodSeconds=GRACE_S)

    def last_seen_s(name: str) -> float:
        """By the clock since the machine started."""
        return float((witness.directory / name).read_text().splitlines()[-1].split()[0])

    first, second = (agent.drop(f"{name}.json", deaf(name)) for name in ("first", "second"))
    agent.start()
    agent.await_running("first", "second")
    began_s = clock_gettime(CLOCK_BOOTTIME)
    first.unlink()
    agent.await_that(lambda: "first drains" in witness.said(), f"{witness.said()}")
    agent.kill()
    pass_by(GRACE_S / 2)
    agent.start()
    agent.await_running("second")  # the next agent knows it as a pod of its own
    second.unlink()
    truth.await_none("first")
    truth.await_none("second")
    assert last_seen_s("first") - began_s > GRACE_S * 0.75
    assert last_seen_s("second") - last_seen_s("first") > GRACE_S / 4, "they differ by what has passed: half of it"
    assert witness.said().count("first drains") == 1


def test_killed_while_a_post_start_hook_runs_the_next_agent_takes_the_container_for_started(
    agent: Agent, truth: Truth
) -> None:
    witness = Witness(agent.directory)
    slow = {"postStart": {"exec": {"command": ["sh", "-c", "echo hook begins >> /witness/log; sleep 60"]}}}
    pair = [witness.container("first", "first", lifecycle=slow), witness.container("second", "second")]
    agent.drop("begun.json", pod("begun", *pair, volumes=[witness.volume]))
    agent.start()
    agent.await_that(lambda: "hook begins" in witness.said(), f"{witness.said()}")
    first = truth.life("begun", "first").key
    agent.kill()
    agent.start()
    agent.await_running("begun")
    assert truth.life("begun", "first").key == first
    assert witness.said().count("hook begins") == 1
