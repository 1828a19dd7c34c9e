"""Facts of a machine: of one made of files, and of the one the tests run on."""

from __future__ import annotations

import ipaddress
import socket
import threading
from pathlib import Path

import pytest

from runtime.host.facts import LocalHostFacts
from runtime.host.machine import architecture_of, cgroup_version, huge_pages, os_image, read_machine
from runtime.host.network import default_routes, look_up


def put(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


# (spec 9.5.3)
def test_a_machine_is_read_from_the_files_of_its_kernel(tmp_path: Path) -> None:
    put(
        tmp_path,
        "proc/meminfo",
        "MemTotal:       16384 kB\nMemFree:  1 kB\nSwapTotal:  1024 kB\nHugePages_Total:   0\n",
    )
    put(tmp_path, "etc/machine-id", "abc\n")
    put(tmp_path, "sys/class/dmi/id/product_uuid", "UUID-1\n")
    put(tmp_path, "proc/sys/kernel/random/boot_id", "boot-1\n")
    put(tmp_path, "proc/sys/kernel/osrelease", "6.1.0\n")
    put(tmp_path, "etc/os-release", 'NAME=x\nPRETTY_NAME="Some Linux 1 (one)"\n')
    put(tmp_path, "sys/fs/cgroup/cgroup.controllers", "cpu")
    put(tmp_path, "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n")
    put(tmp_path, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "3\n")
    for cpu, (package, core) in enumerate(((0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 0))):
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", f"{package}\n")
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", f"{core}\n")
    facts = read_machine(str(tmp_path))
    assert (facts.physical_cores, facts.sockets) == (3, 2)
    assert (facts.memory_bytes, facts.swap_bytes) == (16 * 2**20, 2**20)
    assert (facts.machine_id, facts.system_uuid, facts.boot_id) == ("abc", "UUID-1", "boot-1")
    assert (facts.kernel_version, facts.os_image, facts.cgroup_version) == ("6.1.0", "Some Linux 1 (one)", 2)
    assert facts.huge_pages == ((2 * 2**20, 3), (2**30, 0))


def test_facts_missing_on_the_machine_are_empty(tmp_path: Path) -> None:
    for cpu, (package, core) in enumerate(((0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 0))):
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", f"{package}\n")
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", f"{core}\n")
    facts = read_machine(str(tmp_path))
    assert (facts.physical_cores, facts.sockets) == (3, 2)
    assert (facts.memory_bytes, facts.swap_bytes, facts.huge_pages) == (0, 0, ())
    assert (facts.machine_id, facts.system_uuid, facts.boot_id, facts.kernel_version) == ("", "", "", "")
    assert (facts.os_image, facts.cgroup_version) == ("Linux", 1)


def test_the_id_of_the_system_is_that_of_its_firmware_wherever_that_is_told(tmp_path: Path) -> None:
    put(tmp_path, "etc/machine-id", "abc\n")
    assert read_machine(str(tmp_path)).system_uuid == "abc"
    put(tmp_path, "proc/device-tree/vm,uuid", "tree\0")
    assert read_machine(str(tmp_path)).system_uuid == "tree"


@pytest.mark.parametrize(
    ("line", "image"),
    [("PRETTY_NAME='One'", "One"), ("PRETTY_NAME=Two", "Two"), ('PRETTY_NAME="3', "3"), ("PRETTY_NAME=", "Linux")],
)
def test_the_name_of_a_system_is_read_however_it_is_quoted(tmp_path: Path, line: str, image: str) -> None:
    put(tmp_path, "usr/lib/os-release", line)
    assert os_image(str(tmp_path)) == image


@pytest.mark.parametrize(
    ("machine", "word"),
    [("x86_64", "amd64"), ("aarch64", "arm64"), ("armv7l", "arm"), ("s390x", "s390x"), ("new", "new")],
)
def test_architectures_have_the_words_of_images(machine: str, word: str) -> None:
    assert architecture_of(machine) == word


def test_default_routes_are_those_of_the_kernels_tables_best_first(tmp_path: Path) -> None:
    head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    rows = (
        "eth1\t00000000\t010200C0\t0003\t0\t0\t200\t00000000\t0\t0\t0\n",
        "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n",
        "eth2\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
        "down\t00000000\t010200C0\t0002\t0\t0\t0\t00000000\t0\t0\t0\n",
    )
    put(tmp_path, "proc/net/route", head + "".join(rows))
    zero, hop = "0" * 32, "fd" + "0" * 30
    put(
        tmp_path,
        "proc/net/ipv6_route",
        f"{hop} 40 {zero} 00 {zero} 00000100 00000001 00000000 00000001     eth2\n"
        f"{zero} 00 {zero} 00 {hop} 00000400 00000002 00000000 00000003     eth3\n"
        f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n",
    )
    assert default_routes(str(tmp_path)) == ("eth0", "eth1", "eth3")
    assert default_routes(str(tmp_path / "nowhere")) == ()


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), ()),
        (socket.gaierror(socket.EAI_NODATA, "No address associated with hostname"), ()),
        (UnicodeError("label too long"), ()),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), None),
        (socket.gaierror(socket.EAI_FAIL, "Non-recoverable failure in name resolution"), None),
        (OSError(24, "Too many open files"), None),
    ],
    ids=lambda each: str(each)[:30],
)
def test_a_resolver_that_cannot_tell_has_not_said_that_there_is_no_such_name(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, said: tuple[str, ...] | None
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert look_up("n") == said


def test_a_name_nobody_knows_has_no_address() -> None:
    assert look_up("no-such-host.invalid") == ()
    assert look_up("127.0.0.1") == ("127.0.0.1",)
    assert look_up("x" * 300) == ()


def test_a_resolver_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers.wait(60) and [])
    assert look_up("localhost", timeout_seconds=0.01) is None
    answers.set()


def test_this_machine_can_be_the_machine_of_a_node(tmp_path: Path) -> None:
    host = LocalHostFacts()
    facts = host.machine()
    assert facts.host_name == facts.host_name.lower() != ""
    assert facts.cpus > 0
    assert facts.kernel_version
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert abs(facts.memory_bytes - total_kib * 1024) < 1024 * 1024
    assert cgroup_version() == (2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1)
    assert huge_pages("/") == facts.huge_pages
    assert host.disk_bytes(str(tmp_path / "to" / "be" / "made")) == host.disk_bytes(str(tmp_path)) > 0
    for found in host.network("localhost").interfaces:
        ipaddress.ip_address(found.address)
