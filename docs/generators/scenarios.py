"""Draw `docs/reference/scenarios.md`: the library, every field and every fault.

The names and defaults come from the structs of `simulation.scenarios`, the texts from this file. A field without a text
fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec
from msgspec.structs import FieldInfo, fields

from docs.generators.drawn_page import DrawnPage, main
from simulation.scenarios.devices import DriverDevices, PluginDevices
from simulation.scenarios.faults import AnyFault
from simulation.scenarios.pods import ContainerMix, GreedyMix, PodMix, VolumeMix
from simulation.scenarios.scenario import NodeRules, Scenario, library, library_scenario

HEAD = """# Scenarios

A scenario says which pods come and go on which nodes, what goes wrong, and what must hold. `actorlet simulate` plays it
([options](simulate.md)). [Write a scenario](../how-to/write-a-scenario.md) shows the steps, and [a simulated
world](../explanation/simulated-world.md) says how a run goes. This page is drawn from the code: `python -m
docs.generators.scenarios`.

```yaml
about: crashing pods while most events of the runtime are lost
nodes: 2
pods:
  - name: crashing
    count: 100
    arrives: [0s, 30s]
    lives: [1m, 5m]
    together: 20
    startsWithin: 3s
    containers:
      - {name: app, runsFor: "3s,forever", exitCode: "1", readinessEvery: 10}
      - {name: side, behaviour: {memory: 64Mi}}
faults:
  - {fault: runtime-events, lose: 0.8}
  - {fault: agent-kills, times: 2, away: [0s, 5s]}
lasts: 3m
reaches: [container-restarted]
```

Before anything is played, the whole file is checked. All mistakes are reported at once. Each has a line with the file,
the line number, the path, what is allowed there, and the nearest name: `mine.yaml:9: $.faults[0].verb: 'StartContianer'
is not the name of a call to the runtime; did you mean StartContainer?`. The exit status is 2. The meaning of a pod or a
fault is checked once its form is right. The simulated API server checks the pods, unknown fields included. For an
editor, `simulation/scenarios/schema.json` is the JSON schema of the format;
`python -m tests.simulation.scenarios.test_scenario` writes it anew.

Durations are written as in Go (`90s`, `1m30s`), sizes as quantities (`64Mi`). A stretch is a pair, `[from, to]`, from
which a value is drawn evenly. A chance is a number from 0 to 1.
"""

SCENARIO = {
    "about": "One line for people: `actorlet simulate --list` shows it.",
    "pods": "[Mixes](#a-mix-of-pods) of pods that are alike.",
    "nodes": "How many nodes there are.",
    "firstNode": "The number in the name of the first node; 0 is `node-0`.",
    "apart": "Each node has [a cluster to itself](../explanation/simulated-world.md#nodes-that-are-apart).",
    "node": "[What the nodes are like](#the-nodes).",
    "faults": "[What goes wrong](#faults), until the world is healed.",
    "lasts": "How long pods come and go and things go wrong. Without it: until the last pod is deleted that is to go.",
    "convergesWithin": "How soon after the world is healed all must be as desired.",
    "nodesStayReady": "No node may become NotReady.",
    "leasesEvery": "The lease of each node must be renewed at least this often.",
    "reaches": "Rare events that at least one seed must reach. The names are in `simulation/chance/sometimes.yaml`.",
}
POD_MIX = {
    "name": "The pods are called `name-0`, `name-1`, and so on.",
    "count": "How many there are.",
    "containers": "[Containers](#a-container) of each pod.",
    "volumes": "[Volumes](#a-volume) of each pod, mounted into all of its containers.",
    "restartPolicy": "As in the API.",
    "graceSeconds": "The grace period of each pod.",
    "behaviour": "Knobs of [the simulated runtime](simulated-runtime.md) for the whole pod, without their prefix.",
    "spec": "More of the pod's spec, as in the API.",
    "arrives": "When each is created: drawn from this stretch.",
    "lives": "From creation to deletion: drawn from this stretch. Without it, the pod stays.",
    "together": "This many come at one moment, and go at one moment, as replicas of a workload do.",
    "replaced": "Another pod follows each that is gone, until the world is healed.",
    "replacedHourly": "This share of the pods is deleted in each hour, at times drawn evenly. Another follows each.",
    "static": "The pods are manifests on the nodes instead of objects of the API.",
    "greedy": "[One field](#a-greedy-pod) of each pod is as large as the API server takes it.",
    "updated": "How long after its creation each pod gets one more label, and its ephemeral containers.",
    "changed": "How often each manifest is changed.",
    "resized": "How often the resources of each pod are changed, once all of the mix have come.",
    "sizes": "Resources of each container, as in the API, for `resized`. A pod begins with the first.",
    "devices": "How many [devices of plugins](#device-plugins) its first container asks for: resource -> number.",
    "claims": "How many devices of [drivers](#drivers-for-claims) its first container claims: driver -> number.",
    "fixed": "Keep the count when a run asks for another number of pods.",
    "diskHangs": "The directory of each pod hangs until the world is healed.",
    "hopeless": "The pod need not come to run, nor to its end.",
    "steady": "No container may start twice, and once ready the pod must stay ready.",
    "startsWithin": "Each must show Running this soon. A static pod must run this soon after each change.",
    "endsWithin": "Each must be gone this soon after its deletion.",
    "shownWithin": "The API must show this soon which of its containers run.",
    "probedWithin": "Each probe must be made within this of its time.",
    "slowerAtMost": "How many times as long as without the greedy pods they may wait for starts, probes and ends.",
    "writesUntilRunning": "Its status may be written this often until it is shown Running.",
    "logsAtMost": "No file of its logs may be larger.",
    "says": "The reason of an event that each pod must have.",
    "tells": "Words that this event must contain.",
}
CONTAINER = {
    "name": "The name of the container.",
    "image": "Its image.",
    "runsFor": "From start to exit. One value per attempt, the last one goes on: `3s,forever`.",
    "exitCode": "Its exit code, one value per attempt.",
    "startDelay": "How long its start takes.",
    "readinessEvery": "Seconds between readiness probes; 0: it has none.",
    "livenessEvery": "Seconds between liveness probes; 0: it has none.",
    "behaviour": 'More knobs of the simulated runtime, such as `memory: "64Mi, 3m=1Gi"` for usage over time.',
    "spec": "More of the container, as in the API.",
}
GREEDY = {
    "field": "A field of pods, with a star where it grows, such as `spec.volumes[*].nfs`. `*`: the seed draws one.",
    "size": "How large the pod is as the API stores it. The default is the most that fits into etcd.",
}
VOLUME = {"name": "The name of the volume.", "kind": "What it is made of."}
PLUGIN = {
    "resource": "What it offers, such as `vendor.example/gpu`.",
    "count": "How many devices.",
    "numaNodes": "Over how many NUMA nodes they are spread; 0: it does not say.",
}
DRIVER = {"driver": "Its name, such as `gpu.vendor.example`.", "count": "How many devices it offers in ResourceSlices."}
NODES = {
    "serializeImagePulls": "As in a KubeletConfiguration.",
    "apiRequestsPerSecond": "The agent's limit; 0: none.",
    "configuration": "Fields of a KubeletConfiguration. Without `maxPods` a node takes 20,000 pods.",
    "mailboxes": "Class of actors -> how many messages may wait for each, such as `{PodWorker: 1}`.",
    "imageDisk": "The size of a disk for images and writable layers. Without it they lie on the node's disk.",
    "imageSize": "The size of each image.",
    "spareImages": "How many more images are there from the start, which no pod asks for.",
    "deadContainers": "How many dead containers of unknown pods are on each node from the start.",
    "devices": "[Device plugins](#device-plugins) of each node.",
    "draDrivers": "[Drivers for claims](#drivers-for-claims) of each node. Each has a DeviceClass of its name.",
    "island": "Whether it is an [island](../how-to/island-nodes.md): pods start from memory without the API server.",
    "workTakesTime": "Whether agents' work takes [virtual time](../explanation/simulated-world.md#what-work-costs).",
}
FAULTS = {
    "runtime-calls": (
        "Calls to the runtime go wrong. Each of the numbers is a chance: calls `fail`, are done but `lose` their "
        "answer, `hang`, are `slow`, or are answered `late`. `verb`: of this call only."
    ),
    "runtime-events": (
        "Events of the runtime come twice (`double`), not at all (`lose`), late (`delay`), or their stream breaks "
        "(`cut`). Each is a chance."
    ),
    "api-calls": ("Calls to the API server go wrong, as `runtime-calls` do."),
    "api-watches": ("Events of watches are late (`delay`), or the watch breaks (`cut`). Each is a chance."),
    "api-outage": (
        "Nobody reaches the API server, from `at` on, for as long as it `lasts`. With `forgets`, watches cannot "
        "continue where they were."
    ),
    "runtime-outage": ("Nobody reaches the runtime, from `at` on, for as long as it `lasts`."),
    "network": (
        "Each message between a `node` and the API server takes a `delay` more. With the chance `loss` it is lost "
        "and sent again, as by TCP."
    ),
    "network-cuts": (
        "The network between a `node` and the API server is cut, so many `times`, for as long as it `lasts`."
    ),
    "power-cuts": (
        "Each node loses power and is `away` for a while: so many `times` at any moment, or `at` given times. Its "
        "containers end, and its disk stays."
    ),
    "agent-kills": (
        "Each agent dies and is `away` for a while: so many `times` at any moment, or `at` given times. Or with "
        "the chance `atOperations` at each operation on its disk and each call that changes its runtime. Or "
        "`atMoments` with these [numbers](../how-to/simulate.md#kill-the-agent-anywhere)."
    ),
    "agent-pauses": ("Each agent gets no CPU while it `lasts`: so many `times`, or `at` given times."),
    "clock-jumps": ("The time of day jumps `by` so much, in a `direction`, so many `times`."),
    "lost-messages": ("A `message` of that type, such as LookAgain, finds the mailbox full, with the chance `share`."),
    "frozen-actor": (
        "One actor handles nothing while it `lasts`: that of the `path`, or any that health watches. Health must "
        "name it, and no other."
    ),
    "actor-failures": (
        "Actors of the class `actor` and the `path` (`/node/sync-loop/*`) fail at a `message`, with the chance "
        "`share`: before the work is done, amid it, or after it. At most so many `times` on each node."
    ),
    "node-shortage": (
        "Something else on each node takes so much of `what` (memory, disk, image-disk, inodes or pids) that just "
        "`leaves` is left. It `lasts` for a while, and comes again after `pauses`."
    ),
    "volumes": ("Making a volume of that `kind` hangs or fails, with these chances."),
    "device-plugins": (
        "Device plugins of each node have trouble so many `times`, each for as long as it `lasts`. It is drawn from "
        "`what`: calls `hang`, it `die`s, half its devices are `sick`, it comes back with `other-ids`, or it `lie`s "
        "about its preference. `resource`: of this one only."
    ),
    "dra-drivers": (
        "Drivers for claims have trouble so many `times`, each for as long as it `lasts`. It is drawn from `what`: "
        "calls `hang`, `fail` or are `slow`, or it `die`s, with or without its sockets. `driver`: of this one only."
    ),
    "disk-full": ("Nothing more fits on the disks, from `at` on, for as long as it `lasts`."),
}


class ScenariosPage(DrawnPage, frozen=True):
    def text(self) -> str:
        parts = [HEAD, "## The library", "", "| name | about |", "|---|---|"]
        parts += [f"| `{name}` | {library_scenario(name).about} |" for name in library()]
        parts += ["", *_table("The fields", Scenario, SCENARIO), *_table("The nodes", NodeRules, NODES)]
        parts += [*_table("A mix of pods", PodMix, POD_MIX), *_table("A container", ContainerMix, CONTAINER)]
        parts += [*_table("Device plugins", PluginDevices, PLUGIN)]
        parts += [*_table("Drivers for claims", DriverDevices, DRIVER)]
        parts += [*_table("A volume", VolumeMix, VOLUME), *_table("A greedy pod", GreedyMix, GREEDY), *_faults()]
        return "\n".join(parts) + "\n"


def _table(title: str, part: type[msgspec.Struct], texts: Mapping[str, str]) -> Iterator[str]:
    yield from (f"## {title}", "", "| field | default | |", "|---|---|---|")
    for each in fields(part):
        yield f"| `{each.encode_name}` | {_default(each)} | {texts[each.encode_name]} |"
    yield ""


def _default(field: FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if value is None or value == "" or isinstance(value, (msgspec.Struct, Mapping)):
        return ""
    if isinstance(value, tuple) and any(isinstance(each, msgspec.Struct) for each in value):
        return ""
    return f"`{msgspec.json.encode(value).decode()}`" if value != () else ""


def _faults() -> Iterator[str]:
    heads = ("fault", "required fields", "other fields", "what it does, until the world is healed")
    yield from ("## Faults", "", f"| {' | '.join(heads)} |", "|---|---|---|---|")
    for kind in _kinds(AnyFault):
        required, others = (
            ", ".join(f"`{each.encode_name}`" for each in fields(kind) if each.required is needed)
            for needed in (True, False)
        )
        tag = str(kind.__struct_config__.tag)
        yield f"| `{tag}` | {required} | {others} | {FAULTS[tag]} |"


def _kinds(union: Any) -> tuple[type[msgspec.Struct], ...]:
    return get_args(union)


PAGE = ScenariosPage("scenarios")

if __name__ == "__main__":
    sys.exit(main(PAGE))
