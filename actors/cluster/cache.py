"""`ClusterCacheActor`: caches services, RuntimeClasses and the node for pods (spec 9.8, 13.1).

It follows both sets, each with one watch. Of a service it keeps only the address and the ports. Its answers are ready
to use: the environment variables of services, the node's allocatable amounts, the handler of a RuntimeClass. When the
inputs of all pods change, the sync loop gets them (`PodInputs`) and sends them to each worker with its pod. So most new
pods need not ask.

A question waits a few seconds for the first list, because a late pod is better than a pod without its variables. A
standalone node has no services and no classes. An island node (`actors/island`) has those that it remembers, until the
first list.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

from actors.cluster.list_watch import Follower
from actors.cluster.service_variables import (
    MASTER,
    MASTER_NAMESPACE,
    ServiceLink,
    link_of,
    service_of,
    service_variables,
)
from actors.kernel import ActorRef, Message, SoleMessage, handles
from actors.messages.island import IslandStarted, Recall, Recalled, SetSeen
from actors.messages.pods import FollowNode, NodeObserved
from actors.messages.references import (
    PodInputs,
    PodInputsChanged,
    PodInputsRead,
    ReadPodInputs,
    ReadRuntimeClass,
    RuntimeClassRead,
)
from config.api.resources import RUNTIME_CLASSES, SERVICES
from config.frozen_map import FrozenMap
from config.objects import ObjectMeta, RuntimeClass, Service
from runtime.api import Api, ApiError
from runtime.api.no_server import REASON, NoApiServer

SECOND_NS = 1_000_000_000
FIRST_ANSWER_NS = 5 * SECOND_NS
SERVICE_SET, CLASS_SET = "services", "runtime-classes"

Question = ReadPodInputs | ReadRuntimeClass
_NOTHING: FrozenMap[str, str] = FrozenMap()


class FirstAnswerDue(Message, frozen=True):
    """To itself: answer this question now, even without a list."""

    number: int


class TellIsland(SoleMessage, frozen=True):
    """To itself: tell the memory of an island node what there is now."""


class ClusterCacheActor(Follower):
    """See the module. `island`: who remembers services and classes; None: nobody."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, api: Api | None, node: ActorRef, sync_loop: ActorRef, island: ActorRef | None = None) -> None:
        super().__init__(api or NoApiServer())
        self._alone = api is None
        self._island = island
        self._recalled: set[Hashable] = set()
        """Sets that are known from memory only."""
        self._node = node
        self._sync_loop = sync_loop
        self._services: dict[str, dict[str, ServiceLink]] | None = {} if self._alone else None
        """By namespace and name."""
        self._variables: dict[str, FrozenMap[str, str]] = {}
        """By namespace, for namespaces with services."""
        self._everywhere = _NOTHING
        self._classes: dict[str, str] | None = None
        self._allocatable: FrozenMap[str, str] | None = None
        self._around: PodInputs | None = None
        """The inputs of all pods; None before the services are known."""
        self._trouble: dict[Hashable, str] = {}
        self._waiting: dict[int, Question] = {}
        self._asked = 0

    def on_start(self) -> None:
        self._node.tell(FollowNode(self.ref))
        self._look_around()
        if not self._alone:
            self.follow(SERVICE_SET, SERVICES)
            self.follow(CLASS_SET, RUNTIME_CLASSES)

    # --- answering --------------------------------------------------------------------------------------------------

    @handles(ReadPodInputs, ReadRuntimeClass)
    def read(self, question: Question) -> None:
        """Work: constant: an answer shows what all pods share."""
        if self._may_answer(question):
            self._answer(question)
        else:
            self._wait(question)

    def _may_answer(self, question: Question) -> bool:
        if isinstance(question, ReadRuntimeClass):
            return self._classes is not None or self._alone
        knows_node = self._allocatable is not None or not question.needs_node
        return knows_node and (self._services is not None or not question.wait)

    def _wait(self, question: Question) -> None:
        self._asked += 1
        self._waiting[self._asked] = question
        self.after(FIRST_ANSWER_NS, FirstAnswerDue(self._asked), key=self._asked)

    @handles(FirstAnswerDue)
    def first_answer_due(self, message: FirstAnswerDue) -> None:
        """Work: constant."""
        question = self._waiting.pop(message.number, None)
        if question is not None:
            self._answer(question)

    def _answer_waiting(self) -> None:
        for number, question in list(self._waiting.items()):
            if self._may_answer(question):
                del self._waiting[number]
                self.cancel_timer(number)
                self._answer(question)

    def _answer(self, question: Question) -> None:
        if isinstance(question, ReadPodInputs):
            around, allocatable = self._around, self._allocatable or _NOTHING
            variables = _NOTHING if around is None else around.variables_of(question.namespace, question.own_namespace)
            question.reader.tell(PodInputsRead(question.tag, variables, allocatable, synced=around is not None))
        else:
            handler, error = self._handler_of(question.name)
            question.reader.tell(RuntimeClassRead(question.tag, handler, error))

    def _look_around(self) -> None:
        """Send the inputs of all pods, because they have changed."""
        if self._services is not None:
            self._around = PodInputs(FrozenMap(self._variables), self._everywhere, self._allocatable)
        self._sync_loop.tell(PodInputsChanged(self._around))

    def _work_out(self, services: dict[str, dict[str, ServiceLink]], namespaces: Iterable[str]) -> None:
        """Compute the variables of these namespaces, and those of every pod."""
        master = services.get(MASTER_NAMESPACE, {}).get(MASTER)
        masters = () if master is None else (master,)
        self._everywhere = FrozenMap(service_variables(masters, "", own_namespace=False))
        for namespace in namespaces:
            links = services.get(namespace, {}).values()
            if links:
                variables = service_variables((*links, *masters), namespace, own_namespace=True)
                self._variables[namespace] = FrozenMap(variables)
            else:
                self._variables.pop(namespace, None)

    def _handler_of(self, name: str) -> tuple[str, str]:
        if self._classes is None:
            reason = REASON if self._alone else self._trouble.get(CLASS_SET, "the API server has not answered yet")
            return "", f"failed to lookup RuntimeClass {name}: {reason}"
        if name not in self._classes:
            return "", f'runtimeclass.node.k8s.io "{name}" not found'
        return self._classes[name], ""

    # --- following --------------------------------------------------------------------------------------------------

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        if key == SERVICE_SET:
            self._take_services(objects)
        else:
            self._classes = {each.metadata.name: each.handler for each in objects}
            self._answer_waiting()
        self._recalled.discard(key)
        self._tell_island_later()

    def _take_services(self, objects: Iterable[Service]) -> None:
        services: dict[str, dict[str, ServiceLink]] = {}
        for link in map(link_of, objects):
            if link is not None:
                services.setdefault(link.namespace, {})[link.name] = link
        self._services, self._variables = services, {}
        self._work_out(services, services)
        self._look_around()
        self._answer_waiting()

    # --- what is remembered -------------------------------------------------------------------------------------------

    @handles(Recalled)
    def recalled(self, message: Recalled) -> None:
        """Work: the services and classes that are remembered."""
        if self._services is None:
            self._recalled.add(SERVICE_SET)
            self._take_services(each for each in message.objects if isinstance(each, Service))
        if self._classes is None:
            self._recalled.add(CLASS_SET)
            classes = (each for each in message.objects if isinstance(each, RuntimeClass))
            self._classes = {each.metadata.name: each.handler for each in classes}
            self._answer_waiting()

    @handles(IslandStarted)
    def island_started(self, _: IslandStarted) -> None:
        """Work: constant."""
        self._tell_island_later()

    def _tell_island_later(self) -> None:
        if self._island is not None:
            self.after(SECOND_NS, TellIsland())

    @handles(TellIsland)
    def tell_island(self, _: TellIsland) -> None:
        """Work: all services and classes."""
        if self._island is None:
            return
        if self._services is not None and SERVICE_SET not in self._recalled:
            links = (link for links in self._services.values() for link in links.values())
            self._island.tell(SetSeen(Service.__name__, tuple(map(service_of, links))))
        if self._classes is not None and CLASS_SET not in self._recalled:
            classes = (
                RuntimeClass(metadata=ObjectMeta(name=name), handler=handler) for name, handler in self._classes.items()
            )
            self._island.tell(SetSeen(RuntimeClass.__name__, tuple(classes)))

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        gone = event_type == "DELETED"
        if key == SERVICE_SET:
            self._service_changed(value, gone)
        else:
            self._class_changed(value, gone)

    def _service_changed(self, service: Service, gone: bool) -> None:
        if self._services is None:
            return
        namespace, name = service.metadata.namespace, service.metadata.name
        links = self._services.setdefault(namespace, {})
        link = None if gone else link_of(service)
        if link == links.get(name):
            return  # labels, selectors, load balancers: nothing that a variable shows
        if link is None:
            del links[name]
        else:
            links[name] = link
        self._tell_island_later()
        is_master = (namespace, name) == (MASTER_NAMESPACE, MASTER)
        self._work_out(self._services, self._services if is_master else (namespace,))
        self._look_around()

    def _class_changed(self, runtime_class: RuntimeClass, gone: bool) -> None:
        if self._classes is None:
            return
        name = runtime_class.metadata.name
        if gone:
            self._classes.pop(name, None)
        else:
            self._classes[name] = runtime_class.handler
        self._tell_island_later()

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: the resources of the node, and the questions that wait for them."""
        status = message.node.status
        if status is not None and status.allocatable and status.allocatable != self._allocatable:
            self._allocatable = FrozenMap(status.allocatable)
            self._look_around()
            self._answer_waiting()

    def failing(self, key: Hashable, error: ApiError) -> None:
        self._trouble[key] = str(error)
        is_unknown = self._services is None or self._classes is None
        if self._island is not None and is_unknown and error.outcome_unknown:
            self._island.tell(Recall(self.ref, (Service.__name__, RuntimeClass.__name__)))
