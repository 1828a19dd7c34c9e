"""Devices of plugins in the configuration of a container."""

from __future__ import annotations

from actors.model.devices import HeldDevices
from actors.start.cri_configs import ContainerNodeRules, Making, container_config
from actors.start.devices import NO_SETUP, joined_setup
from config.frozen_map import FrozenMap
from config.objects import Container, EmptyDirVolumeSource, EnvVar, ObjectMeta, Pod, PodSpec, Volume, VolumeMount
from runtime.cri.messages import CDIDevice, ContainerConfig, Device, Image, KeyValue, Mount
from runtime.device_plugins.capability import DeviceMount, DeviceSetup, HostDevice

NODE = ContainerNodeRules(root_directory="/var/lib/kubelet")
GPU = DeviceSetup(
    FrozenMap({"GPUS": "0,1", "MODE": "plugin"}),
    (DeviceMount("/lib/gpu", "/usr/lib/gpu", True),),
    (HostDevice("/dev/gpu0", "/dev/dri/card0", "rw"),),
    FrozenMap({"vendor.example/slot": "3", "io.kubernetes.container.hash": "a lie"}),
    ("vendor.example/gpu=0",),
)


def made(setup: DeviceSetup) -> tuple[Pod, ContainerConfig]:
    app = Container(
        name="app",
        image="i",
        command=("run", "--on=$(GPUS)"),
        env=(EnvVar(name="MODE", value="mine"),),
        volume_mounts=(VolumeMount(name="data", mount_path="/data"),),
    )
    volumes = (Volume(name="data", empty_dir=EmptyDirVolumeSource()),)
    pod = Pod(
        metadata=ObjectMeta(name="p", namespace="default", uid="u"), spec=PodSpec(containers=(app,), volumes=volumes)
    )
    making = Making(0, 0, Image(id="sha256:1"), {"data": "/host/data"}, setup=setup)
    return pod, container_config(pod, app, making, NODE)


def test_a_container_gets_all_that_the_plugin_asks_for():
    _, config = made(GPU)
    assert Mount(container_path="/lib/gpu", host_path="/usr/lib/gpu", readonly=True) in config.mounts
    assert "/data" in [each.container_path for each in config.mounts]
    assert config.devices == (Device(container_path="/dev/gpu0", host_path="/dev/dri/card0", permissions="rw"),)
    assert config.CDI_devices == (CDIDevice(name="vendor.example/gpu=0"),)
    assert config.annotations["vendor.example/slot"] == "3"
    assert KeyValue(key="GPUS", value=b"0,1") in config.envs


def test_a_command_may_use_the_variables_of_a_plugin():
    _, config = made(GPU)
    assert config.command == ("run", "--on=0,1")


def test_what_the_pod_and_the_agent_say_counts_more_than_what_a_plugin_says():
    _, config = made(GPU)
    _, plain = made(NO_SETUP)
    assert [each.value for each in config.envs if each.key == "MODE"] == [b"mine"]
    key = "io.kubernetes.container.hash"
    assert config.annotations[key] == plain.annotations[key]


def test_of_two_plugins_the_first_resource_counts():
    nic = DeviceSetup(
        FrozenMap({"GPUS": "none", "NIC": "1"}),
        devices=(HostDevice("/dev/gpu0", "/dev/other"), HostDevice("/dev/nic", "/dev/nic")),
        cdi=("vendor.example/gpu=0", "vendor.example/nic=1"),
    )
    both = joined_setup({"v.example/nic": HeldDevices((), nic), "v.example/gpu": HeldDevices((), GPU)})
    assert both.env == {"GPUS": "0,1", "MODE": "plugin", "NIC": "1"}
    assert [(each.path, each.host_path) for each in both.devices] == [
        ("/dev/gpu0", "/dev/dri/card0"),
        ("/dev/nic", "/dev/nic"),
    ]
    assert both.cdi == ("vendor.example/gpu=0", "vendor.example/nic=1")


def test_within_one_answer_the_first_of_two_entries_counts():
    twice = DeviceSetup(devices=(HostDevice("/dev/a", "/dev/1"), HostDevice("/dev/a", "/dev/2")))
    assert joined_setup({"r": HeldDevices((), twice)}).devices == (HostDevice("/dev/a", "/dev/1"),)
