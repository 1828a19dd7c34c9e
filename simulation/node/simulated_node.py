"""`SimulatedNode`: a host, a container runtime and a node agent in one process, on any dispatcher.

The host and the runtime are the world; the agent is the very same `NodeAgent` that runs on real machines. Manifests are
put and removed as a person would do it. `kill` ends the agent as SIGKILL would. `restart_agent` starts a new one, which
finds the world as the old one has left it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from actors.containers.gc_rules import GcPolicy
from actors.kernel import Dispatcher, broken
from actors.kernel.dispatcher import Trace
from actors.node.node import NodeAgent
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node_object.settings import Registration
from actors.pod.services import NodeFacts
from actors.resources.abilities import Abilities
from actors.start.cri_configs import ContainerNodeRules
from config.flags.command_line import DEVICE_PLUGIN_WAIT_NS
from config.island import IslandSettings
from config.kubelet import KubeletConfiguration, crash_loop_periods
from config.kubelet.feature_gates import FeatureGates
from config.objects import Pod
from runtime.api import ApiLines, BootstrapApi
from runtime.cri import Cri
from runtime.cri.messages import ContainerState
from runtime.csi.capability import NodeInfo
from runtime.host.selinux import FileLabel
from runtime.io.pending import PendingAnswer
from runtime.manifests.url import ManifestAnswer, ManifestFetchError
from runtime.metrics.meters import Meters
from runtime.plugin_registration.capability import DRA_PLUGIN
from runtime.probes import Prober
from runtime.state.certificate_keys import CertificateKeys
from runtime.state.opaque_file import CLAIMS, ISLAND
from simulation.chance.call_faults import Faults
from simulation.cri import Settings, SimulatedCri
from simulation.cri.state import ContainerRecord
from simulation.faults.failing import FailingActors
from simulation.host.cgroups import SimulatedCgroups
from simulation.host.device_plugins import SimulatedDevicePlugins
from simulation.host.dra_drivers import SimulatedDraDriver, SimulatedDraDrivers
from simulation.host.facts import ADDRESS, MAX_PODS, SimulatedHostFacts
from simulation.host.host import SimulatedHost
from simulation.host.machine_shutdown import SimulatedMachineShutdown
from simulation.host.memory_notices import SimulatedMemoryNotices
from simulation.host.oom_log import SimulatedOomLog
from simulation.host.plugins import SimulatedPlugins
from simulation.host.state_files import (
    SimulatedAllocationFile,
    SimulatedDeviceFile,
    SimulatedIdFiles,
    SimulatedOpaqueFile,
    SimulatedPullRecordFiles,
    SimulatedShareFiles,
)
from simulation.host.stats import SimulatedHostStats
from simulation.host.sub_paths import SimulatedSubPaths
from simulation.host.topologies import topology_of
from simulation.host.volumes import SimulatedNodeVolumes
from simulation.node.hook_caller import SimulatedHookCaller
from simulation.node.killable import (
    AgentKilledError,
    BeforeCall,
    KillableApi,
    KillableCri,
    KillableDispatcher,
    Mailboxes,
    Moment,
)
from simulation.node.prober import SimulatedProber
from simulation.node.told_calls import Tell, ToldApi, ToldCri
from simulation.node.work import AgentWork

ROOT = "/var/lib/actorlet"
MANIFESTS = "/etc/kubernetes/manifests"
POWER_LOST = 255
"""Exit code of containers that ran at a power loss; containerd reports it after a boot."""
MEMORY_BYTES = 16 * 2**30
NO_LABELS: Mapping[str, str] = {}


class NoManifestServer:
    """`runtime.manifests.url.ManifestServer` in a world without one."""

    def get(self, url: str, headers: Mapping[str, Sequence[str]]) -> PendingAnswer[ManifestAnswer]:
        return broken(ManifestFetchError(f"there is no server at {url} in this world"))


class SimulatedNode:
    """See the module.

    `manifests`: file name -> text, there before the agent starts. `settings`, `faults`: of the runtime.
    `configuration`: of the agent; manifests are at `MANIFESTS` unless it says otherwise. `api`: ways to the API server
    that the node joins; None: it stands alone. `trace`: told of each message of the agent. `mailboxes`: that its actors
    have. `failing`: which of them fail by chance. `work_takes_time`: the work of the agent takes virtual time.
    `topology`: of the machine, as `simulation.host.topologies` reads it; empty: a plain one. `device_patience_ns`: how
    long its pods wait for device plugins. `island`: what it starts from memory without the API server.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        manifests: Mapping[str, str] | None = None,
        settings: Settings | None = None,
        faults: Faults | None = None,
        configuration: KubeletConfiguration | None = None,
        gates: FeatureGates | None = None,
        gc_policy: GcPolicy | None = None,
        name: str = "node",
        api: ApiLines | None = None,
        accept_manifests: bool = False,
        serving_keys: CertificateKeys | None = None,
        client_keys: CertificateKeys | None = None,
        bootstrap: BootstrapApi | None = None,
        trace: Trace | None = None,
        mailboxes: Mailboxes | None = None,
        failing: FailingActors | None = None,
        told_answers: Tell | None = None,
        address: str = ADDRESS,
        labels: Mapping[str, str] = NO_LABELS,
        file_label: FileLabel | None = None,
        starts_at_once: int = 0,
        work_takes_time: bool = False,
        topology: str = "",
        device_patience_ns: int = DEVICE_PLUGIN_WAIT_NS,
        island: IslandSettings | None = None,
    ) -> None:
        configuration = configuration or KubeletConfiguration(max_pods=MAX_PODS)
        if not configuration.static_pod_path:
            configuration = msgspec.structs.replace(configuration, static_pod_path=MANIFESTS)
        self.dispatcher = dispatcher
        self.plan = NodePlan(
            facts=NodeFacts(
                name=name,
                root_directory=ROOT,
                host_ips=(address,),
                runtime_name="simulated",
                cgroup_version=2,
                memory_capacity_bytes=MEMORY_BYTES,
                starts_at_once=starts_at_once,
                abilities=Abilities(unsafe_sysctls=configuration.allowed_unsafe_sysctls),
                rules=ContainerNodeRules(
                    root_directory=ROOT,
                    stop_signals=(gates or FeatureGates({})).enabled("ContainerStopSignals"),
                    restart_all=(gates or FeatureGates({})).enabled("RestartAllContainersOnContainerExits"),
                    device_messages=(gates or FeatureGates({})).enabled("ResourceHealthStatusMessage"),
                    image_volume_refs=(gates or FeatureGates({})).enabled("ImageVolumeWithDigest"),
                ),
            ),
            configuration=configuration,
            crash_loop=crash_loop_periods(configuration, gates or FeatureGates({})),
            gc_policy=gc_policy or GcPolicy(),
            gates=gates or FeatureGates({}),
            device_patience_ns=device_patience_ns,
            island=island,
            pushed_manifests=f"{ROOT}/pushed-manifests" if accept_manifests else "",
            registration=Registration(labels=labels),
            file_label=file_label,
        )
        self.host = SimulatedHost(
            pod_logs=configuration.pod_logs_dir, container_logs=self.plan.facts.container_logs_directory
        )
        self.host.tree.make_directories(ROOT)
        self.host.tree.make_directories(configuration.static_pod_path)
        self.cri = SimulatedCri(dispatcher, settings, files=self.host.container_files, faults=faults)
        self.cgroups = SimulatedCgroups(self.cri)
        self.volumes = SimulatedNodeVolumes(self.host.tree, ROOT)
        self.plugins = SimulatedPlugins()
        self.device_plugins = SimulatedDevicePlugins()
        self.dra_drivers = SimulatedDraDrivers()
        self.oom_log = SimulatedOomLog()
        self.shutdown = SimulatedMachineShutdown(dispatcher)
        self.memory_notices = SimulatedMemoryNotices()
        self.machine = SimulatedHostFacts(name, addresses=(address,))
        if topology:
            self.machine.become(topology_of(topology))
        self.usage = SimulatedHostStats(dispatcher, self.cri, self.machine, self.host.tree, ROOT, self.cgroups)
        for file, text in (manifests or {}).items():
            self.put_manifest(file, text)
        self._api = api
        self._trace = trace
        self._mailboxes = mailboxes
        self._failing = failing
        self._told_answers = told_answers
        self._work_takes_time = work_takes_time
        self._before_call: BeforeCall | None = None
        self._moment: Moment | None = None
        self.on_probe: list[Callable[[ContainerRecord, str], object]] = []
        """Told of each probe that the agent makes, with its kind."""
        self._serving_keys, self._client_keys, self._bootstrap = serving_keys, client_keys, bootstrap
        self._connections: tuple[KillableApi, ...] = ()
        self._life = 0
        self._agent, self.node = self._new_agent()

    def _new_agent(self) -> tuple[KillableDispatcher, NodeAgent]:
        self.plugins.forget()
        self.device_plugins.forget()
        self.dra_drivers.forget()
        self.shutdown.forget()
        agent = KillableDispatcher(self.dispatcher, self._life, self._trace)
        self._life += 1
        agent.mailboxes = self._mailboxes
        agent.failing = self._failing
        agent.before_call = self._before_call
        agent.moment = self._moment
        if self._work_takes_time:
            agent.work = AgentWork(agent, agent.enqueue, self.host.tree)
        cri = self.reach(KillableCri(agent, self.cri))
        if self._told_answers is not None:
            cri = ToldCri(cri, self.cri.state, self._told_answers)
        capabilities = NodeCapabilities(
            cri=cri,
            prober=self.ask(SimulatedProber(agent, cri, self.cri, self.on_probe)),
            hooks=SimulatedHookCaller(agent, self.cri),
            manifests=self.host.manifests,
            manifest_server=NoManifestServer(),
            manifest_store=self.host.manifest_store,
            serving_keys=self._serving_keys,
            client_keys=self._client_keys,
            bootstrap=self._bootstrap,
            files=self.host.pod_files,
            logs=self.host.pod_logs,
            log_files=self.host.log_files,
            volumes=self.volumes,
            sub_paths=SimulatedSubPaths(self.host.tree, ROOT),
            host=self.machine,
            ids=SimulatedIdFiles(self.host.tree, ROOT),
            allocations=SimulatedAllocationFile(self.host.tree, ROOT),
            pull_records=SimulatedPullRecordFiles(self.host.tree, ROOT),
            share_files=SimulatedShareFiles(self.host.tree, ROOT),
            device_plugins=self.device_plugins,
            device_file=SimulatedDeviceFile(self.host.tree, ROOT),
            dra_drivers=self.dra_drivers,
            claim_file=SimulatedOpaqueFile(self.host.tree, ROOT, CLAIMS),
            island_file=SimulatedOpaqueFile(self.host.tree, ROOT, ISLAND),
            api=self._api_of(agent),
            cgroups=self.cgroups,
            stats=self.usage,
            drivers=self.plugins,
            plugin_sockets=self.plugins,
            oom_log=self.oom_log,
            machine_shutdown=self.shutdown,
            memory_notices=self.memory_notices,
            meters=Meters(alone=self.dispatcher.single_threaded),
        )
        return agent, NodeAgent(agent, self.plan, capabilities)

    def _api_of(self, agent: KillableDispatcher) -> ApiLines | None:
        if self._api is None:
            return None
        main, leases, events = (KillableApi(agent, api) for api in (self._api.main, self._api.leases, self._api.events))
        self._connections = (main, leases, events)
        if (tell := self._told_answers) is not None:
            return ApiLines(ToldApi(main, tell), ToldApi(leases, tell), ToldApi(events, tell))
        return ApiLines(main, leases, events)

    def reach(self, cri: Cri) -> Cri:
        """The runtime as the agent reaches it; a subclass may stand in the way."""
        return cri

    def ask(self, prober: Prober) -> Prober:
        """The containers as the agent's probes reach them; a subclass may stand in the way."""
        return prober

    def add_dra_driver(self, name: str, instance: str = "") -> SimulatedDraDriver:
        """A driver for claims of devices starts, and puts its socket for registration there."""
        driver = self.dra_drivers.add(name, instance)
        self.start_dra_driver(driver)
        return driver

    def start_dra_driver(self, driver: SimulatedDraDriver) -> None:
        """A driver starts again."""
        driver.start()
        kind, services = DRA_PLUGIN, ("v1.DRAPlugin",)
        self.plugins.add(driver.name, NodeInfo(""), kind=kind, versions=services, endpoint=driver.endpoint)

    def stop_dra_driver(self, driver: SimulatedDraDriver) -> None:
        """A driver ends, and takes its sockets along."""
        driver.stop()
        self.plugins.remove(driver.name)

    # --- the agent --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the agent. Returns at once."""
        self.node.start()

    @property
    def agent(self) -> KillableDispatcher:
        """The agent that is there now, as a process."""
        return self._agent

    def stop(self) -> bool:
        """Stop the agent cleanly; containers run on. False when an actor did not end in time."""
        return self.node.stop()

    def kill(self) -> None:
        """The agent dies on the spot. The runtime finishes what it had been asked."""
        self._agent.kill()
        self.shutdown.forget()
        self.device_plugins.forget()
        for connection in self._connections:
            connection.close()

    def restart_agent(self) -> None:
        """A new agent on the same host, which begins at once. The old one is killed if it still lives."""
        self.kill()
        self._agent, self.node = self._new_agent()
        self.start()

    def lose_power(self) -> None:
        """The machine goes off: agent, containers and mounts end at once.

        The disk stays, and dead containers with it.
        """
        self.kill()
        for container in tuple(self.cri.state.containers.values()):
            if container.state is ContainerState.CONTAINER_RUNNING:
                self.cri.kill_container(container.id, POWER_LOST, "Unknown")
        for sandbox in tuple(self.cri.state.sandboxes.values()):
            self.cri.lose_sandbox(sandbox.id)

    def boot(self) -> None:
        """The machine goes on again, without its agent."""
        self.machine.reboot()
        # Of mounts and cgroups only the kernel knew.
        self.volumes.mounted.clear()
        self.cgroups.forget()

    def ask_before_calls(self, before_call: BeforeCall) -> None:
        """Call `before_call` with the verb before each runtime call of its agents.

        If it returns False, the call does nothing.
        """
        self._before_call = self._agent.before_call = before_call

    def tell_each_moment(self, moment: Moment) -> None:
        """Tell of each moment at which its agents may die: before each turn of an actor.

        Before and after each call of a lane, and each call that changes something in the runtime or the API; before
        each change on the disk.
        """
        self._moment = self._agent.moment = moment
        self.host.tree.before_change = self._before_change

    def _before_change(self, path: str) -> None:
        """Containers write into the same tree; what they do is none of the agent's moments."""
        if self._agent.dies_within_a_call(f"before a change of {path}"):
            raise AgentKilledError(f"killed before a change of {path}")

    # --- what a person does -----------------------------------------------------------------------------------------

    def put_manifest(self, name: str, text: str) -> None:
        """Write a manifest of that file name, or write over it."""
        self.host.put_manifest(self._path_of(name), text)

    def remove_manifest(self, name: str) -> None:
        """Remove the manifest of that file name."""
        self.host.tree.remove_all(self._path_of(name))

    def _path_of(self, name: str) -> str:
        return f"{self.plan.configuration.static_pod_path}/{name}"

    # --- looking ----------------------------------------------------------------------------------------------------

    def pods(self) -> tuple[Pod, ...]:
        """Every pod with its published status, by namespace and name; asked of the agent."""
        return self.node.pods()

    def containers(self) -> tuple[ContainerRecord, ...]:
        """The truth: every container of the runtime, dead ones included, in the order of their making."""
        return tuple(self.cri.state.containers.values())
