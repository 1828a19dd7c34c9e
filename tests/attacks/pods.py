"""Attacks by the author of a pod, and by containers.

Points 1, 2, 5, 6 and 9 of the threat list.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from runtime.files.tree import remove_tree
from tests.attacks.target import ANSWERS_WITHIN_S, Target
from tests.attacks.words import WORDS, forged_lines, raw_characters
from tests.real.agent import NODE
from tests.real.claims import claim
from tests.real.pods import STAY, container, pod
from tests.runtime.files.trees import deepest, make_deep

UID = "attack-on-mount"
DEEP = 1500
GROUP = 2000


def options_for_mount(target: Target) -> None:
    """The server of an NFS volume is an option of mount(8), with a table that binds the host's root."""
    agent = target.agent
    place = agent.pod_directory(UID) / "volumes" / "kubernetes.io~nfs" / "evil"
    table = target.directory("fstab:") / "x"
    table.write_text(f"/ {place} none bind 0 0\n")
    nfs = {"server": f"--fstab={str(table.parent)[:-1]}", "path": "/x"}
    document = pod("mounts", container(), volumes=[{"name": "evil", "nfs": nfs}])
    document["metadata"]["uid"] = UID
    mounts = [{"name": "evil", "mountPath": "/evil"}]
    document["spec"]["containers"][0]["volumeMounts"] = mounts
    with target.manifests(mounts=json.dumps(document)) as paths:

        def noticed() -> bool:
            refused = any(each.origin.startswith(str(paths["mounts"])) for each in agent.problems())
            return refused or bool(agent.events_of("mounts", "FailedMount")) or place.is_mount()

        agent.await_that(noticed, "the volume is neither refused nor mounted", 60)
        assert not place.is_mount(), "the host's root is mounted into the pod"
        assert not target.truth.lives("mounts"), "the pod runs"
    agent.await_that(lambda: not target.truth.sandboxes("mounts"), "the pod does not go", 60)


def open_references(target: Target) -> None:
    """References that never close, in the environment, the command and the arguments."""
    text = "$(" * 60_000
    stays = container(args=["x", text], env=[{"name": "A", "value": text}])
    stays["command"][2] += f" # {text[:60_000]}"
    with target.pods(pod("refers", stays)):
        target.await_decided("refers")


def exploding_variables(target: Target) -> None:
    """Each variable is twice the one before.

    After twenty-five of them that is 32 MiB, times the characters of the first.
    """
    first: dict[str, str] = {"name": "A0", "value": "x" * 100}
    more = [{"name": f"A{number}", "value": f"$(A{number - 1})$(A{number - 1})"} for number in range(1, 26)]
    with target.pods(pod("explodes", container(env=[first, *more]))):
        target.await_decided("explodes")
        assert target.truth.lives("explodes") == (), "it is refused before it is created"


def last_words(target: Target) -> None:
    """A log line that looks like JSON and nests without end, where the log is the termination message."""
    script = "printf '\\r{\"x\":'; head -c 200000 /dev/zero | tr '\\0' '['; echo; exit 1"
    policy = "FallbackToLogsOnError"
    speaks = container(script=script, terminationMessagePolicy=policy)
    # The message comes from the file, which is all that a container needs for other tricks.
    writes = container("writes", "printf '\\r{\"x\":[[[[\\377\\376' > /dev/termination-log; exit 1")
    with target.pods(pod("speaks", speaks, writes, restartPolicy="Never")):
        target.cluster.await_phase("Failed", "speaks", limit_s=60)


def hostile_words(target: Target) -> None:
    """Words for a terminal and for the log: said at the end, as an image, and as a path."""
    says = container("says", f"printf %s {shlex.quote(WORDS)} > /dev/termination-log; exit 1")
    picture = {**container("picture"), "image": f"busybox{WORDS}"}
    path = [{"name": "v", "hostPath": {"path": f"/no{WORDS}", "type": "Directory"}}]
    evil = pod("evil", says, picture, restartPolicy="Never")
    lost = pod("lost", container(volumeMounts=[{"name": "v", "mountPath": "/v"}]), volumes=path)
    with target.pods(evil, lost):

        def said() -> bool:
            states = [each.state for each in target.cluster.status("evil").container_statuses]
            return any(state and state.terminated and state.terminated.message == WORDS for state in states)

        target.agent.await_that(said, "the API does not get the true text", ANSWERS_WITHIN_S)
        target.await_event("lost", "FailedMount")
        for words in (("explain", "evil"), ("explain", "lost"), ("pods",), ("actors",)):
            told = target.agent.told(*words)
            assert not raw_characters(told), f"{words[0]} shows words as they are"
        log = target.agent.said()
        assert "owned" in log
        assert not raw_characters(log), "the log has words as they are"
        assert not forged_lines(log), "a line of the log is forged"


def deep_directories(target: Target) -> None:
    """A tree deeper than a path can be long, in a volume that has an owner. It goes with its pod."""
    script = f"cd /own; i=0; while [ $i -lt {DEEP} ]; do mkdir d && cd d || exit 1; i=$((i+1)); done"
    mounts = [{"name": "own", "mountPath": "/own"}]
    digs = container(script=script, volumeMounts=mounts)
    document = pod("digs", digs, restartPolicy="Never", volumes=[{"name": "own", "emptyDir": {}}])
    document["spec"]["securityContext"] = {"fsGroup": GROUP}
    with target.pods(document):
        target.cluster.await_phase("Succeeded", "digs", limit_s=120)
        uid = target.agent.pod("digs").metadata.uid
    directory = target.agent.pod_directory(uid)
    target.agent.await_that(lambda: not directory.exists(), f"{directory} stays", 60)


def a_deep_claim(target: Target) -> None:
    """A tree deeper than a path can be long lies in a claim that the agent has to give to a group."""
    place = target.directory("deep-claim")
    try:
        make_deep(place, DEEP)
        volume = claim(target.cluster, "deep-claim", place)
        mounts = [{"name": volume["name"], "mountPath": "/given"}]
        document = pod("given", container(volumeMounts=mounts), volumes=[volume])
        document["spec"]["securityContext"] = {"fsGroup": GROUP}
        with target.pods(document):
            target.cluster.await_phase("Running", "given", limit_s=ANSWERS_WITHIN_S)
            lowest = deepest(place)
            try:
                assert os.fstat(lowest).st_gid == GROUP, "the deepest directory is not the group's"
            finally:
                os.close(lowest)
    finally:
        remove_tree(str(place))


def a_hidden_hoard(target: Target) -> None:
    """A pod hides data beyond the limit of its volume at a place that no path names.

    The agent finds it and evicts the pod.
    """
    digs = f"i=0; while [ $i -lt {DEEP} ]; do mkdir d && cd d || exit 1; i=$((i+1)); done"
    script = f"cd /own; {digs}; head -c 3000000 /dev/zero > hoard; {STAY}"
    hides = container(script=script, volumeMounts=[{"name": "own", "mountPath": "/own"}])
    limited = [{"name": "own", "emptyDir": {"sizeLimit": "1Mi"}}]
    with target.pods(pod("hides", hides, restartPolicy="Never", volumes=limited)):
        target.agent.await_that(
            lambda: target.cluster.status("hides").reason == "Evicted", "what it hides is not found", ANSWERS_WITHIN_S
        )


def links_of_the_host(target: Target) -> None:
    """A link lies where hostPath is to make a file or a directory: nothing is made where it leads."""
    place, outside = target.directory("links"), target.directory("outside")
    volumes: list[dict[str, Any]] = []
    for number, kind in enumerate(("FileOrCreate", "DirectoryOrCreate")):
        (place / kind).symlink_to(outside / kind)
        volumes.append({"name": f"v{number}", "hostPath": {"path": str(place / kind), "type": kind}})
    for volume in volumes:
        name = f"links-{volume['name']}"
        mounts = [{"name": volume["name"], "mountPath": "/x"}]
        with target.pods(pod(name, container(volumeMounts=mounts), volumes=[volume])):
            target.await_event(name, "FailedMount")
            assert list(outside.iterdir()) == [], "something was made where the link leads"


def endless_numbers(target: Target) -> None:
    """A grace of seventy digits, and a UID that leads out of the directory of pods."""
    document = pod("endless", container())
    endless = json.dumps(document).replace(
        '"terminationGracePeriodSeconds": 5', f'"terminationGracePeriodSeconds": {"9" * 70}'
    )
    assert "9" * 70 in endless
    document["metadata"] = {"name": "leads-out", "uid": "../../leads-out"}
    with target.manifests(endless=endless, out=json.dumps(document)) as paths:
        target.await_refused(*paths.values())
        assert not (Path(target.agent.root).parent / "leads-out").exists()
    assert f"leads-out-{NODE}" not in {each.metadata.name for each in target.agent.pods().values()}
