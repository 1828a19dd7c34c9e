"""A node of the command line on a simulated machine.

Its containers, volumes and logs leave nothing on this machine.

Separate from `node_start`: a node on a real runtime imports no simulation.
"""

from __future__ import annotations

from actors.kernel import PoolDispatcher
from actors.node.plan import NodeCapabilities, NodePlan
from runtime.api import ApiLines
from runtime.io.event_loop import LoopThread
from runtime.manifests.http import HttpManifests
from runtime.manifests.local import LocalManifests
from runtime.manifests.store import LocalManifestStore
from simulation.cri import Settings, SimulatedCri
from simulation.host.cgroups import SimulatedCgroups
from simulation.host.facts import SimulatedHostFacts
from simulation.host.host import SimulatedHost
from simulation.host.state_files import SimulatedAllocationFile, SimulatedIdFiles, SimulatedShareFiles
from simulation.host.stats import SimulatedHostStats
from simulation.host.sub_paths import SimulatedSubPaths
from simulation.host.volumes import SimulatedNodeVolumes
from simulation.node.hook_caller import SimulatedHookCaller
from simulation.node.prober import SimulatedProber

SIMULATED_RUNTIME = "simulated"


def simulated_capabilities(
    dispatcher: PoolDispatcher, plan: NodePlan, loop: LoopThread, settings: Settings, api: ApiLines | None = None
) -> NodeCapabilities:
    """Manifests from this machine; containers, volumes and logs are simulated."""
    logs, links = plan.configuration.pod_logs_dir, plan.facts.container_logs_directory
    host = SimulatedHost(pod_logs=logs, container_logs=links)
    cri = SimulatedCri(dispatcher, settings, files=host.container_files)
    cgroups = SimulatedCgroups(cri)
    machine, root = SimulatedHostFacts(plan.facts.name, addresses=plan.facts.host_ips), plan.facts.root_directory
    return NodeCapabilities(
        cri=cri,
        prober=SimulatedProber(dispatcher, cri, cri),
        hooks=SimulatedHookCaller(dispatcher, cri),
        manifests=LocalManifests(),
        manifest_server=HttpManifests(loop),
        manifest_store=LocalManifestStore(),
        files=host.pod_files,
        logs=host.pod_logs,
        log_files=host.log_files,
        volumes=SimulatedNodeVolumes(host.tree, plan.facts.root_directory),
        sub_paths=SimulatedSubPaths(host.tree, plan.facts.root_directory),
        ids=SimulatedIdFiles(host.tree, plan.facts.root_directory),
        allocations=SimulatedAllocationFile(host.tree, plan.facts.root_directory),
        share_files=SimulatedShareFiles(host.tree, plan.facts.root_directory),
        host=machine,
        api=api,
        cgroups=cgroups,
        stats=SimulatedHostStats(dispatcher, cri, machine, host.tree, root, cgroups),
    )
