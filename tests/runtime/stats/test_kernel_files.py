"""The formats of the kernel's files."""

from __future__ import annotations

import pytest

from runtime.stats import kernel_files as files
from runtime.stats.readings import BlockDevice, DeviceIo, InterfaceReading, Stall, StallPressure


@pytest.mark.parametrize(
    ("text", "value"), [("42\n", 42), ("max\n", None), ("", None), ("-1\n", None), ("9223372036854771712\n", None)]
)
def test_a_limit_that_is_none_is_none(text: str, value: int | None) -> None:
    assert files.limit(text) == value


def test_flat_files_are_names_and_numbers_and_what_is_neither_is_passed_over() -> None:
    assert files.flat("cache 10\ntotal_rss 20\n\nhalf\nword max\n") == {"cache": 10, "total_rss": 20}


# (spec 11.6.4)
def test_pressure_is_read_where_the_kernel_has_it() -> None:
    text = "some avg10=1.50 avg60=0.25 avg300=0.00 total=12345\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
    assert files.pressure(text) == StallPressure(some=Stall(12345, 1.5, 0.25, 0.0), full=Stall(7, 0.0, 0.0, 0.0))
    assert files.pressure("") is None


def test_block_devices_of_both_versions_say_the_same() -> None:
    expected = (DeviceIo("8:0", read_bytes=4096, write_bytes=8192, reads=1, writes=2),)
    assert files.io_stat("8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n7:0\n") == expected
    service = "8:0 Read 4096\n8:0 Write 8192\n8:0 Total 12288\nTotal 12288\n"
    assert files.blkio(service, "8:0 Read 1\n8:0 Write 2\nTotal 3\n") == expected


NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0
  eth0: 2000 20 1 2 0 0 0 0 3000 30 3 4 0 0 0 0
  eth1:5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0
"""
ETH0 = InterfaceReading("eth0", 2000, 20, 1, 2, 3000, 30, 3, 4)


def test_interfaces_are_all_but_the_loopback() -> None:
    assert files.net_dev(NET_DEV) == (ETH0, InterfaceReading("eth1", 5, 1, 0, 0, 6, 1, 0, 0))


def test_the_default_interface_is_that_of_the_cheapest_default_route() -> None:
    route = (
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
        "eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\n"
        "eth1\t00000000\t0102A8C0\t0003\t0\t0\t50\t00000000\n"
        "eth2\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\n"
    )
    assert files.default_interface(route, (ETH0,)) == "eth1"
    assert files.default_interface("", (ETH0,)) == "eth0"
    assert files.default_interface("", ()) == ""


def test_the_groups_of_a_process_in_both_versions() -> None:
    assert files.cgroup_paths("4:memory:/a\n2:cpu,cpuacct:/b\n0::/c\n") == {
        "memory": "/a",
        "cpu": "/b",
        "cpuacct": "/b",
        "": "/c",
    }


def test_the_machine_s_times_leave_out_what_idles() -> None:
    stat = "cpu  10 5 20 1000 300 1 2 0 0 0\ncpu0 1 2 3\nbtime 1700000000\n"
    assert files.cpu_times_us(stat) == (380_000, 150_000, 230_000)
    assert files.boot_time_s(stat) == 1_700_000_000
    assert files.cpu_times_us("") is None


def test_tasks_and_times_of_processes() -> None:
    assert files.tasks_of_load("0.10 0.20 0.30 2/345 6789\n") == 345
    assert files.tasks_of_load("") is None
    name_with_brackets = "42 (a) b) S 1 42 42 0 -1 0 0 0 0 0 70 30 0 0 20 0 1 0 1234 0 0"
    assert files.process_times(name_with_brackets) == (1_000_000_000, 1234)
    assert files.process_times("") is None
    assert files.process_faults(name_with_brackets) == (0, 0)


def test_disks_that_did_something_are_told_by_number_and_name() -> None:
    line = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
    idle = "   8      16 sdb 0 0 0 0 0 0 0 0 0 0 0\n   1  0 ram0 1 1 1 1 1 1 1 1 1 1 1\nshort 1\n"
    assert files.diskstats(line + idle) == (BlockDevice("8:0", "/dev/sda", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("Max open files            1024                 4096      files\n", (("max_open_files", 1024),)),
        ("Max open files            unlimited            unlimited files\n", (("max_open_files", -1),)),
        ("Max cpu time              unlimited            unlimited seconds\n", ()),
        ("", ()),
    ],
)
def test_the_limit_of_open_files_is_told_under_the_name_of_cadvisor(
    text: str, limits: tuple[tuple[str, int], ...]
) -> None:
    assert files.ulimits(text) == limits
