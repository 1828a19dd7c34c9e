"""The parts of a pod's worker, and the order of a pass.

The constructor gives each part the parts that it uses; there are no cycles among them. A part that asks another actor
handles the answer itself. A new concern is one file of `steps/` and one line in `gates` or `steps`.
"""

from __future__ import annotations

from actors.kernel import part
from actors.messages.pods import RuntimePod
from actors.pod.container_stops import ContainerStops
from actors.pod.history import PodHistory
from actors.pod.hook_runner import HookRunner
from actors.pod.mounts import PodMounts
from actors.pod.one_pass import Step
from actors.pod.pod_actor import PodActor
from actors.pod.post_starts import PostStarts
from actors.pod.probes import PodProbes
from actors.pod.references import PodReferences
from actors.pod.runtime import PodCalls, PodObserver
from actors.pod.services import PodServices
from actors.pod.steps.admitted import PodAdmission
from actors.pod.steps.claims import PodResourceClaims
from actors.pod.steps.containers import ContainerStarts
from actors.pod.steps.cpus import PodCpus
from actors.pod.steps.deadline import PodDeadline
from actors.pod.steps.devices import PodDevices
from actors.pod.steps.end_what_must_end import EndWhatMustEnd
from actors.pod.steps.fields_honoured import FieldsHonoured
from actors.pod.steps.images import PodImages, PodLeases
from actors.pod.steps.look import PodLook, network_ready, runtime_answers
from actors.pod.steps.resize import PodResize
from actors.pod.steps.sandbox import PodSandbox
from actors.pod.steps.volumes_ready import PodVolumes
from actors.pod.view import PodView


class PodParts:
    admission = part(PodAdmission)
    calls = part(PodCalls)
    claims = part(PodResourceClaims)
    containers = part(ContainerStarts)
    cpus = part(PodCpus)
    devices = part(PodDevices)
    leases = part(PodLeases)
    probes = part(PodProbes)
    references = part(PodReferences)
    resize = part(PodResize)
    sandbox = part(PodSandbox)
    stops = part(ContainerStops)
    volumes = part(PodVolumes)

    def __init__(self, worker: PodActor, uid: str, services: PodServices, orphan: RuntimePod | None) -> None:
        self.worker = worker
        self.services = services
        self.history = history = PodHistory(worker, uid, services.historian)
        self.observer = observer = PodObserver(worker, services.cri, uid)
        self.calls = calls = PodCalls(worker, services.cri, observer)
        self.view = view = PodView(worker, uid, services, orphan, observer, history)
        hooks = HookRunner(worker, services)
        self.stops = ContainerStops(worker, view, history, observer, calls, hooks)
        self.post_starts = PostStarts(view, history, hooks, self.stops)
        self.probes = PodProbes(worker, services, view)
        self.look = PodLook(worker, services, view, history, observer, self.probes, self.stops, self.post_starts)
        self.references = references = PodReferences(worker, services, view)
        self.admission = PodAdmission(worker, services, view)
        self.leases = PodLeases(worker, services.image_gc)
        images = PodImages(worker, services, view, history, references, self.leases)
        cpus = None
        if services.gives_shares:  # on most nodes all containers share all CPUs
            cpus = self.cpus = PodCpus(worker, services, view, observer, calls, self.admission)
        self.claims = PodResourceClaims(worker, services, view)
        gates = (self.admission, self.claims)
        self.sandbox = PodSandbox(worker, services, view, observer, calls, references, *gates, images, cpus)
        self.volumes = PodVolumes(worker, services.volumes, view, history, references, self.sandbox, self.admission)
        self.resize = PodResize(worker, services, view, observer, calls, self.admission, cpus)
        mounts = PodMounts(worker, services, view, images)
        self.devices = PodDevices(worker, services, view)
        given = (self.devices, self.claims, cpus)
        self.containers = ContainerStarts(
            worker, services, view, observer, calls, references, images, mounts, self.stops, self.post_starts, *given
        )
        stop_signals = services.node.rules.stop_signals
        self.gates: tuple[Step, ...] = (
            FieldsHonoured(view, self.volumes, stop_signals=stop_signals).step,
            PodDeadline(worker, view).step,
            self.look.step,
            runtime_answers,
            self.admission.step,
            network_ready,
            self.volumes.step,
        )
        """May the pod go on?"""
        self.steps: tuple[Step, ...] = (
            EndWhatMustEnd(worker, services.crash_loop, view, self.look, calls, self.stops, self.sandbox).step,
            self.sandbox.step,
            self.leases.step,
            *(() if cpus is None else (cpus.step,)),
            self.resize.step,
            self.containers.step,
        )
        """What brings it nearer, after the decision what to do."""
