"""Scenarios as files: what is read, what is refused and where, and the schema that goes along."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

import simulation
from simulation.cri.behaviour import PREFIX
from simulation.scenarios.faults import AgentKills
from simulation.scenarios.pods import annotations_of, images_of
from simulation.scenarios.scenario import (
    ScenarioError,
    lasting,
    library,
    library_scenario,
    read_scenario,
    schema,
    with_nodes,
    with_pods,
)

SCHEMA = Path(simulation.__file__).parent / "scenarios" / "schema.json"
FAULTS = "about: x\npods: [{name: a, count: 1}]\nfaults: "
TWO_MIXES = b"""
about: two mixes
pods:
  - {name: one, count: 1, fixed: true}
  - {name: many, count: 3}
  - {name: more, count: 1}
"""


def test_the_schema_beside_the_scenarios_is_that_of_the_structs():
    assert json.loads(SCHEMA.read_text()) == schema(), (
        "make it anew: python -m tests.simulation.scenarios.test_scenario"
    )


@pytest.mark.parametrize("name", library())
def test_every_scenario_of_the_library_can_be_read_and_says_what_it_is_about(name: str):
    assert library_scenario(name).about


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("about: x", "$: has no field pods"),
        ("about: x\npods: []", "$.pods"),
        ("about: x\npods: [{name: a, count: -1}]", "$.pods[0].count"),
        ("about: x\npods: [{name: A_b, count: 1}]", "$.pods[0].name"),
        ("about: x\npods: [{name: a, count: 1, lives: [2s, 1s]}]", "$.pods[0].lives: write the shorter"),
        ("about: x\npods: [{name: a, count: 1, arrives: [soon, 1s]}]", "$.pods[0].arrives[0]"),
        ("about: x\npods: [{name: a, count: 1}, {name: a, count: 1}]", "$.pods[1].name: there is another mix 'a'"),
        ("about: x\npods: [{name: a, count: 1, colour: red}]", "colour"),
        ("about: x\npods: [{name: a, count: 1, replaced: true}]", "$.pods[0].replaced: needs `lives`"),
        ("about: x\npods: [{name: a, count: 1, replacedHourly: 0.1}]", "$.pods[0].replacedHourly: needs `lasts`"),
        ("about: x\npods: [{name: a, count: 1, behaviour: {fly: high}}]", "there is no knob 'fly'"),
        ("about: x\npods: [{name: a, count: 1}]\nfaults: [{fault: meteor}]", "$.faults[0]"),
        ("about: x\npods: [{name: a, count: 1}]\nfaults: [{fault: runtime-calls, fail: 2}]", "$.faults[0].fail"),
        ("about: x\npods: [{name: a, count: 1}]\nfaults: [{fault: agent-kills, times: 1}]", "$.faults[0]: it comes"),
        (
            "about: x\nlasts: 1m\npods: [{name: a, count: 1}]\nfaults: [{fault: agent-kills}]",
            "$.faults[0]: write `times`",
        ),
        (
            "about: x\npods: [{name: a, count: 1}]\nfaults: [{fault: network, node: other}]",
            "$.faults[0].node: there is no",
        ),
        ("about: x\npods: [{name: a, count: 1}]\nfaults: [{fault: network, loss: 1}]", "$.faults[0].loss"),
        (
            "about: x\nlasts: 1m\npods: [{name: a, count: 1}]\nfaults: [{fault: clock-jumps, times: 1, by: [2h, 1h]}]",
            "$.faults[0].by: write the shorter",
        ),
        ("about: x\npods: [{name: a, count: 1}]\nfaults: [{fault: clock-jumps, times: 1, by: [1h, 2h]}]", "`lasts`"),
        ("about: x\npods: [{name: a, count: 1, changed: 2}]", "$.pods[0].changed: only manifests"),
        ("about: x\npods: [{name: a, count: 1, tells: me}]", "$.pods[0].tells: needs `says`"),
        ("about: x\npods: [{name: a, count: 1, logsAtMost: much}]", "$.pods[0].logsAtMost"),
        ("about: x\npods: [{name: a, count: 1, volumes: [{name: v, kind: cloud}]}]", "$.pods[0].volumes[0].kind"),
        (
            "about: x\nnode: {configuration: {maxPods: many}}\npods: [{name: a, count: 1}]",
            "$.node.configuration.maxPods",
        ),
        ("about: x\nnode: {mailboxes: {PodWorker: 0}}\npods: [{name: a, count: 1}]", "$.node.mailboxes"),
        ("about: x\npods: [{name: a, count: 1}]\nreaches: [the-moon]", "$.reaches[0]: 'the-moon' is none of"),
        (
            "about: x\nlasts: 9999999999h\npods: [{name: a, count: 1}]",
            "$.lasts: '9999999999h' is not a duration: it is bey",
        ),
        ('about: x\nlasts: "5s\\n"\npods: [{name: a, count: 1}]', "$.lasts"),
        ("about: x\npods: [{name: a, count: 1, arrives: [0s, 9999999999h]}]", "$.pods[0].arrives[1]"),
        ("about: x\npods: [{name: a, count: 1, startsWithin: 9999999999h}]", "$.pods[0].startsWithin"),
        ("about: x\npods: [{name: a, count: 1, logsAtMost: -5}]", "$.pods[0].logsAtMost"),
        ("about: x\npods: [{name: a, count: 1, probedWithin: 5s}]", "$.pods[0].probedWithin: no container has a probe"),
        (
            "about: x\npods: [{name: a, count: 1, containers: [{name: b}, {name: b}]}]",
            "$.pods[0]: the API server refuses its pods: Pod",
        ),
        ("about: x\npods: [{name: a, count: 1, spec: {hostnetwork: true}}]", 'unknown field "spec.hostnetwork"'),
        ("about: x\npods: [{name: a, count: 1, spec: {priority: high}}]", "$.pods[0]: the API server refuses"),
        ("about: x\npods: [{name: a, count: 1, static: true, steady: true}]", "$.pods[0].steady: is asked of pods of"),
        ("about: x\npods: [{name: a, count: 4, static: true, together: 2}]", "$.pods[0].together: manifests come one"),
        (
            "about: x\npods: [{name: a, count: 4, replaced: true, together: 2}]",
            "$.pods[0].together: manifests come one",
        ),
        ("about: x\nnode: {mailboxes: {PodWroker: 1}}\npods: [{name: a, count: 1}]", "did you mean PodWorker?"),
        ("abuot: x\npods: [{name: a, count: 1}]", "did you mean about?"),
        (
            "about: x\nnode: 2\npods: [{name: a, count: 1}]",
            "$.node: must be a map, not the number 2; did you mean nodes?",
        ),
        ("about: x\npods: [{name: a, count: 1, lifes: 5s}]", "$.pods[0].lifes: unknown field; did you mean lives?"),
        (FAULTS + "[{fault: frozen-acto}]", "; did you mean frozen-actor?"),
        (FAULTS + "[{fault: api-outage, last: 5s}]", "$.faults[0].last: unknown field; did you mean lasts?"),
        (FAULTS + "[{fault: network, lost: 0.1}]", "$.faults[0].lost: unknown field; did you mean loss?"),
        (FAULTS + "[{fault: runtime-calls, fail: 0.6, lose: 0.6}]", "$.faults[0]: the chances of fail"),
        (FAULTS + "[{fault: runtime-calls, verb: StartContianer}]", "$.faults[0].verb: 'StartContianer' is not"),
        (FAULTS + "[{fault: api-calls, verb: patch}]", "$.faults[0].verb: 'patch' is not a call"),
        (FAULTS + "[{fault: api-calls, verb: patch pod/status}]", "did you mean pods?"),
        (FAULTS + "[{fault: volumes, kind: nsf}]", "$.faults[0].kind: 'nsf' is not"),
        (FAULTS + "[{fault: lost-messages, message: LookAgian, share: 1}]", "did you mean LookAgain?"),
        (FAULTS + "[{fault: actor-failures, actor: PodWroker, share: 1}]", "did you mean PodWorker?"),
        (FAULTS + "[{fault: actor-failures, message: LookAgian, share: 1}]", "did you mean LookAgain?"),
        (
            FAULTS + "[{fault: runtime-calls}, {fault: runtime-calls, fail: 0.1}]",
            "$.faults[1]: there is another runtime-calls '*'",
        ),
        (
            FAULTS + "[{fault: node-shortage, what: pids, leaves: ['1', '2'], lasts: [0s, 0s], pauses: [0s, 0s]}]",
            "$.faults[0]: it comes again and",
        ),
    ],
)
def test_a_fault_of_a_scenario_has_its_place(text: str, told: str):
    with pytest.raises(ScenarioError) as refused:
        read_scenario(text.encode())
    assert told in str(refused.value)


MANY_MISTAKES = b"""\
abuot: everything is wrong
nodes: some
pods:
  - {name: web, count: many, lifes: [1s, 2s]}
  - {name: web, count: 1, lives: [5s, 1s], restartPolicy: Allways}
  - name: job
    count: 1
    lives: [5s, 1s]
    containers: [{readinessEvery: -1, volumes: []}]
  - {name: ends, count: 1, lives: [5s, 1s]}
  - {name: refused, count: 1, spec: {hostnetwork: true}}
faults:
  - {fault: meteor}
  - {lasts: 1s}
  - {fault: runtime-calls, verb: StartContianer, fail: 2}
  - {fault: runtime-calls, verb: StartContianer}
  - {fault: clock-jumps, times: 1, by: [soon, 1h], direction: sideways}
  - {fault: network, node: node-9}
lasts: soon
converges-within: 5m
reaches: [agent-kiled]
"""


def test_all_mistakes_are_told_at_once_with_line_path_allowed_values_and_nearest_name():
    with pytest.raises(ScenarioError) as refused:
        read_scenario(MANY_MISTAKES)
    names = "Always, OnFailure, Never"
    duration = "is not allowed here; write it as in Go: 90s, 1m30s, 250ms, 0"
    wanted = [
        "1: $.abuot: unknown field; did you mean about?",
        "1: $: has no field about; write it",
        "2: $.nodes: must be a whole number from 1 to 1000, not the text 'some'",
        "4: $.pods[0].count: must be a whole number from 0 to 1000000, not the text 'many'",
        "4: $.pods[0].lifes: unknown field; did you mean lives?",
        f"5: $.pods[1].restartPolicy: the text 'Allways' is none of {names}; did you mean Always?",
        "9: $.pods[2].containers[0].readinessEvery: must be a whole number, at least 0, not the number -1",
        "9: $.pods[2].containers[0].volumes: unknown field; there are behaviour, exitCode, image, livenessEvery, ",
        "10: $.pods[3].lives: write the shorter of 5s and 1s first",
        "11: $.pods[4]: the API server refuses its pods: ",
        "13: $.faults[0].fault: the text 'meteor' is none of runtime-calls, runtime-events, api-calls, ",
        "14: $.faults[1]: has no field fault; write fault: one of runtime-calls, runtime-events, api-calls, ",
        "15: $.faults[2].fail: must be a number from 0 to 1, not the number 2",
        "16: $.faults[3].verb: 'StartContianer' is not the name of a call to the runtime; did you mean StartContainer?",
        f"17: $.faults[4].by[0]: the text 'soon' {duration}",
        "17: $.faults[4].direction: the text 'sideways' is none of forward, back, both",
        f"19: $.lasts: the text 'soon' {duration}",
        "20: $.converges-within: unknown field; did you mean convergesWithin?",
        "21: $.reaches[0]: 'agent-kiled' is none of ",
    ]
    told = [f"{line}: {fault}" for line, fault in zip(refused.value.lines, refused.value.faults, strict=True)]
    assert len(told) == len(wanted)
    assert [line[: len(start)] for line, start in zip(told, wanted, strict=True)] == wanted
    assert told[-1].endswith("; did you mean agent-killed?")


def test_a_document_of_any_size_has_at_most_a_hundred_mistakes_of_form():
    text = json.dumps({"about": "x", "pods": [{f"field-{number}": 1 for number in range(50_000)}]})
    with pytest.raises(ScenarioError) as refused:
        read_scenario(text.encode())
    assert len(refused.value.faults) <= 100


def test_another_number_of_pods_keeps_the_fixed_ones_and_the_shares_of_the_others():
    scenario = with_pods(read_scenario(TWO_MIXES), 101)
    assert [mix.count for mix in scenario.pods] == [1, 75, 25]
    with pytest.raises(ScenarioError, match="1 of its pods are fixed"):
        with_pods(read_scenario(TWO_MIXES), 0)


def test_a_time_that_was_given_in_the_words_of_go_can_be_saved_and_read():
    scenario = lasting(read_scenario(TWO_MIXES), ".5h")
    assert read_scenario(msgspec.json.encode(scenario)).lasts == "1800000000000ns"
    assert lasting(scenario, "1h30m").lasts == "1h30m"


def test_another_number_of_nodes_must_have_those_that_faults_name():
    text = TWO_MIXES + b"nodes: 3\nfaults: [{fault: network, node: node-2}]"
    with pytest.raises(ScenarioError, match=r"\$.faults\[0\].node: there is no 'node-2'"):
        with_nodes(read_scenario(text), 2)


def test_pods_whose_image_has_no_valid_name_can_be_played():
    text = b"about: x\npods: [{name: a, count: 1, hopeless: true, containers: [{image: 'A b'}]}]"
    assert images_of(read_scenario(text).pods) == ()


def test_container_behaviour_becomes_annotations_of_the_simulated_runtime():
    text = b"about: x\npods: [{name: a, count: 1, containers: [{name: job, runsFor: 3s, exitCode: '1'}]}]"
    (mix,) = read_scenario(text).pods
    assert annotations_of(mix) == {f"{PREFIX}run-for.job": "3s", f"{PREFIX}exit-code.job": "1"}


def test_a_fault_is_known_by_its_kind():
    text = b"about: x\npods: [{name: a, count: 1}]\nlasts: 1m\nfaults: [{fault: agent-kills, times: 2}]"
    assert read_scenario(text).faults == (AgentKills(times=2),)


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(schema(), indent=2) + "\n")
