"""What the command line makes of flags and machine: the plan of a node."""

from __future__ import annotations

from cli.run.node_start import plan_of, this_machine
from config.flags.command_line import parse_flags
from config.kubelet.gate_dependencies import NEEDS
from config.start_configuration import load_kubelet_configuration
from simulation.host.facts import SimulatedHostFacts

HOST = SimulatedHostFacts("Machine-1", addresses=("192.0.2.1", "2001:db8::1"))


OFF = ("NodeDeclaredFeatures", *(gate for gate, needed in NEEDS.items() if "NodeDeclaredFeatures" in needed))


def test_flags_and_gates_reach_the_registration_of_the_node() -> None:
    start = load_kubelet_configuration(
        parse_flags(
            [
                "--node-labels=disk=ssd,pool=a",
                "--node-ip=192.0.2.1, 2001:db8::1",
                "--cloud-provider=external",
                f"--feature-gates={','.join(f'{gate}=false' for gate in OFF)}",
            ]
        )
    )
    plan = plan_of(start, this_machine("Node-1 ", ("192.0.2.1", "2001:db8::1"), HOST), "/root", "containerd")
    registration = plan.registration
    assert registration.labels == {"disk": "ssd", "pool": "a"}
    assert registration.node_ips == ("192.0.2.1", "2001:db8::1")
    assert registration.external_cloud
    assert registration.host_name == plan.facts.name == "node-1"
    assert registration.version.startswith("v1.36.2+actorlet")
    assert plan.facts.host_ips == ("192.0.2.1", "2001:db8::1")
    assert not plan.gates.enabled("NodeDeclaredFeatures")


# (spec 9.8.6)
def test_a_machine_without_flags_is_called_as_it_calls_itself_and_has_one_address() -> None:
    start = load_kubelet_configuration(parse_flags([]))
    plan = plan_of(start, this_machine("", (), HOST), "/root", "containerd")
    assert plan.facts.name == "machine-1"
    assert plan.facts.host_ips == ("192.0.2.1",)
    assert plan.registration.node_ips == ()
    assert not plan.registration.external_cloud


def test_pods_and_their_volumes_in_memory_have_what_is_not_kept_for_others() -> None:
    flags = ["--kube-reserved=memory=1Gi", "--eviction-hard=memory.available<512Mi"]
    facts = plan_of(
        load_kubelet_configuration(parse_flags(flags)), this_machine("", (), HOST), "/root", "containerd"
    ).facts
    assert facts.memory_capacity_bytes - facts.memory_allocatable_bytes == 3 * 2**29
