"""Starts the actors that distribute the node's resources, and those that watch what it runs short of."""

from __future__ import annotations

from actors.devices.registrar import DevicePluginsActor
from actors.eviction.manager import EvictionActor
from actors.eviction.memory_notifier import MemoryNotifierActor, memory_marks
from actors.eviction.steps import EvictionTools
from actors.node.packet_rules import PacketRulesActor
from actors.node.pod_cidr import PodCidrActor
from actors.node.resolver_check import ResolverCheckActor
from actors.node.shutdown import ShutdownActor, ShutdownTools
from actors.node.shutdown_rules import groups_of
from actors.node.stats import NodeStatsActor
from actors.node.wiring.known_actors import Wiring
from actors.pleg.oom_watcher import OomWatcherActor
from actors.resources.cgroups.actor import CgroupActor
from actors.resources.cgroups.book import CgroupBook
from actors.resources.cgroups.making import CgroupTools
from actors.resources.cgroups.plan import cgroup_plan
from actors.resources.device_keeper import DeviceSettings
from actors.resources.manager import ResourceManagerActor
from actors.resources.resize.infeasible import ResizeRules
from actors.resources.share_keeper import ShareSettings
from actors.resources.user_namespaces import UserNamespaceActor


def start_shortages(node: Wiring) -> None:
    """Actors that end pods for the sake of the node."""
    can, configuration, actors = node.can, node.configuration, node.actors
    if actors.stats is not None and actors.eviction is not None and can.stats is not None:
        node.make(
            actors.stats,
            NodeStatsActor,
            cri=can.cri,
            host=can.stats,
            root_directory=node.plan.facts.root_directory,
            pod_logs=configuration.pod_logs_dir,
            volumes=can.volumes,
            count_every_ns=configuration.volume_stats_agg_period,
            meters=can.meters,
        )
        eviction_tools = EvictionTools(
            stats=actors.stats,
            sync_loop=actors.sync_loop,
            events=actors.events,
            listeners=(actors.node_status, actors.resources),
            containers=actors.container_gc,
            images=actors.image_gc,
            files=can.files,
            meters=can.meters,
        )
        node.make(
            actors.eviction,
            EvictionActor,
            tools=eviction_tools,
            configuration=configuration,
            node_name=node.name,
            path=node.path_of("evictions"),
        )
    if actors.shutdown is not None and can.machine_shutdown is not None:
        tools = ShutdownTools(
            machine=can.machine_shutdown,
            sync_loop=actors.sync_loop,
            node_status=actors.node_status,
            resources=actors.resources,
            status_manager=actors.status_manager,
            events=actors.events,
            files=can.files,
            meters=can.meters,
        )
        path, groups = node.path_of("graceful_node_shutdown_state"), groups_of(configuration)
        node.make(actors.shutdown, ShutdownActor, tools=tools, groups=groups, node_name=node.name, path=path)


def start_device_plugins(node: Wiring) -> None:
    """The socket for registrations serves before the node is Ready."""
    actors, plugins = node.actors, node.can.device_plugins
    if actors.device_plugins is not None and plugins is not None:
        node.make(
            actors.device_plugins,
            DevicePluginsActor,
            plugins=plugins,
            listener=actors.resources,
            node=actors.node_status,
            meters=node.can.meters,
        )


def _device_settings(node: Wiring) -> DeviceSettings | None:
    actors, file = node.actors, node.can.device_file
    if actors.device_plugins is None or file is None:
        return None
    return DeviceSettings(
        file=file,
        plugins=actors.device_plugins,
        patience_ns=node.plan.device_patience_ns,
        node=actors.node_status,
        any_node=node.configuration.topology_manager_policy == "none",
        shows_health=node.plan.gates.enabled("ResourceHealthStatus"),
        says_why=node.plan.gates.enabled("ResourceHealthStatusMessage"),
    )


def start_resources(node: Wiring) -> None:
    can, facts, configuration, actors = node.can, node.plan.facts, node.configuration, node.actors
    gates = node.plan.gates
    shares = None
    if can.share_files is not None:
        shares = ShareSettings(configuration, gates, can.host, can.share_files, facts.root_directory)
    node.make(actors.pod_cidr, PodCidrActor, cri=can.cri)
    node.make(
        actors.user_namespaces,
        UserNamespaceActor,
        files=can.ids,
        ids_per_pod=configuration.ids_per_pod,
        max_pods=configuration.max_pods,
    )
    node.make(
        actors.resources,
        ResourceManagerActor,
        file=can.allocations,
        node_name=node.name,
        abilities=facts.abilities,
        events=actors.events,
        sync_loop=actors.sync_loop,
        api=node.api,
        meters=can.meters,
        cgroups=actors.cgroups,
        node=actors.node_status,
        eviction=actors.eviction,
        shares=shares,
        devices=_device_settings(node),
        resize_rules=ResizeRules(
            containers=facts.rules.resources,
            cpu_policy=configuration.cpu_manager_policy,
            memory_policy=configuration.memory_manager_policy,
            pod_level=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
            init_containers=gates.enabled("InPlacePodVerticalScalingInitContainers"),
            exclusive_cpus=gates.enabled("InPlacePodVerticalScalingExclusiveCPUs"),
            exclusive_memory=gates.enabled("InPlacePodVerticalScalingExclusiveMemory"),
        ),
    )
    if actors.cgroups is not None and can.cgroups is not None:
        plan = cgroup_plan(
            node.name,
            configuration,
            gates,
            version=facts.cgroup_version,
            page_sizes=facts.page_sizes,
            pids=facts.pids,
        )
        tools = CgroupTools(can.cgroups, can.cri, can.volumes, actors.events, can.meters)
        node.make(actors.cgroups, CgroupActor, tools=tools, plan=plan, book=CgroupBook())


def start_watchers(node: Wiring) -> None:
    """Actors that watch the machine and report problems."""
    can, configuration, actors = node.can, node.configuration, node.actors
    if configuration.resolv_conf:
        node.start(
            "resolver-check",
            ResolverCheckActor,
            files=can.files,
            events=actors.events,
            path=configuration.resolv_conf,
            domain=configuration.cluster_domain,
            node=node.name,
        )
    if can.packet_rules is not None and configuration.make_iptables_util_chains:
        node.start("packet-rules", PacketRulesActor, rules=can.packet_rules)
    if can.oom_log is not None:
        node.start(
            "oom-watcher",
            OomWatcherActor,
            log=can.oom_log,
            events=actors.events,
            node=node.name,
            meters=can.meters,
        )
    marks = memory_marks(configuration)
    if marks and can.memory_notices is not None and actors.eviction is not None:
        node.start(
            "memory-notifier",
            MemoryNotifierActor,
            notices=can.memory_notices,
            marks=marks,
            eviction=actors.eviction,
        )
