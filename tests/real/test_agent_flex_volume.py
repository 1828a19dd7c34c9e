"""flexVolume on containerd: a driver script of the node mounts what a container writes into."""

from __future__ import annotations

from tests.real.agent import Agent
from tests.real.pods import Truth, container, pod

DRIVER = """#!/bin/sh
case "$1" in
init) ;;
mount) mount -t tmpfs -o size=1m flex "$2" && echo "$3" > "$2/options" ;;
unmount) umount "$2" ;;
*) echo '{"status": "Not supported"}'; exit 1 ;;
esac || { echo '{"status": "Failure", "message": "it failed"}'; exit 1; }
echo '{"status": "Success", "capabilities": {"attach": false}}'
"""


def test_a_driver_of_the_node_mounts_a_volume_and_takes_it_down(agent: Agent, truth: Truth) -> None:
    drivers = agent.directory / "drivers"
    program = drivers / "example.com~disk" / "disk"
    program.parent.mkdir(parents=True)
    program.write_text(DRIVER)
    program.chmod(0o755)
    agent.configure(volumePluginDir=str(drivers))
    agent.start()
    source = {"driver": "example.com/disk", "options": {"color": "red"}}
    mount = {"name": "data", "mountPath": "/x"}
    one = container("main", volumeMounts=[mount])
    volumes = [{"name": "data", "flexVolume": source}]
    agent.drop("web.json", pod("web", one, volumes=volumes, securityContext={"fsGroup": 777}))
    agent.await_running("web")
    life = truth.running("web")
    assert '"color": "red"' in truth.run(life, "cat", "/x/options")
    assert truth.run(life, "stat", "-c", "%g", "/x", "/x/options").split() == ["777", "777"]
    (agent.manifests / "web.json").unlink()
    agent.await_that(lambda: "web" not in agent.pods(), "the pod does not go")
    assert list((agent.root / "pods").iterdir()) == []
