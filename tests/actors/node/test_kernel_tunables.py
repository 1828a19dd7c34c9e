"""The kernel has the parameters that a node needs, or the agent says which are wrong (spec 9.8)."""

from __future__ import annotations

from actors.node.kernel_tunables import WANTED, TunableDifference, differences, protected_faults, set_all


class Kernel:
    """Parameters in memory. `locked`: may be read only."""

    def __init__(self, values: dict[str, int], locked: bool = False) -> None:
        self.values = values
        self.locked = locked

    def get(self, name: str) -> int | None:
        return self.values.get(name)

    def set(self, name: str, value: int) -> str:
        if self.locked:
            return "Permission denied"
        self.values[name] = value
        return ""


# (spec 9.8.5)
def test_the_table_is_that_of_the_specification() -> None:
    assert dict(WANTED) == {
        "vm.overcommit_memory": 1,
        "vm.panic_on_oom": 0,
        "kernel.panic": 10,
        "kernel.panic_on_oops": 1,
        "kernel.keys.root_maxkeys": 1_000_000,
        "kernel.keys.root_maxbytes": 25_000_000,
    }


def test_only_what_differs_is_set_and_what_the_kernel_lacks_is_left_out() -> None:
    kernel = Kernel({"vm.overcommit_memory": 0, "vm.panic_on_oom": 0, "kernel.panic": 0})
    found = differences(kernel)
    assert found == (TunableDifference("vm.overcommit_memory", 1, 0), TunableDifference("kernel.panic", 10, 0))
    changed, failed = set_all(kernel, found)
    assert changed == ("vm.overcommit_memory is 1 now, it was 0", "kernel.panic is 10 now, it was 0")
    assert failed == ()
    assert differences(kernel) == ()
    assert kernel.values == {"vm.overcommit_memory": 1, "vm.panic_on_oom": 0, "kernel.panic": 10}


def test_missing_rights_are_reported_for_each_kernel_parameter() -> None:
    kernel = Kernel({"vm.overcommit_memory": 0}, locked=True)
    changed, failed = set_all(kernel, differences(kernel))
    assert changed == ()
    assert failed == ("vm.overcommit_memory stays 0, a node needs 1: Permission denied",)


# (spec 9.8.5)
def test_a_protected_kernel_is_a_reason_not_to_start_for_each_parameter() -> None:
    faults = protected_faults(differences(Kernel({"vm.overcommit_memory": 2, "kernel.panic_on_oops": 0})))
    assert [str(fault) for fault in faults] == [
        "$.protectKernelDefaults: vm.overcommit_memory is 2 on this machine, not 1; "
        "run `sysctl -w vm.overcommit_memory=1`, or set it to false and let the agent do so",
        "$.protectKernelDefaults: kernel.panic_on_oops is 0 on this machine, not 1; "
        "run `sysctl -w kernel.panic_on_oops=1`, or set it to false and let the agent do so",
    ]
