"""Fields of a pod that this agent knows and does not honour yet: said as a warning event, never passed over (pains 17).

Pure. A field that makes a container impossible is refused where the container is configured (`actors.start`); here are
those without which a pod can run, though not as its author meant. Each row goes when the field comes to be honoured.
"""

from __future__ import annotations

from collections.abc import Iterator

from config.objects import Container, Pod

RESTART_ALL = "RestartAllContainers"


def unhonoured_fields(pod: Pod) -> tuple[str, ...]:
    """Paths in the document, in its order: `$.spec.containers[0].lifecycle.preStop`."""
    spec = pod.spec
    found = [
        f"$.spec.{name}"
        for name, said in (
            ("dnsConfig", spec.dns_config is not None),
            ("dnsPolicy", spec.dns_policy == "None"),
            ("hostAliases", bool(spec.host_aliases)),
            ("overhead", bool(spec.overhead)),
            ("resourceClaims", bool(spec.resource_claims)),
        )
        if said
    ]
    for group, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        for index, container in enumerate(containers):
            found += [f"$.spec.{group}[{index}].{field}" for field in _of_container(container)]
    return tuple(found)


def warning(paths: tuple[str, ...]) -> str:
    """What the event says."""
    return f"not honoured by this agent yet, the pod runs without: {', '.join(paths)}"


def _of_container(container: Container) -> Iterator[str]:
    hooks = container.lifecycle
    if hooks is not None:
        if hooks.post_start is not None:
            yield "lifecycle.postStart"
        if hooks.pre_stop is not None:
            yield "lifecycle.preStop"
        if hooks.stop_signal is not None:
            yield "lifecycle.stopSignal"
    for index, rule in enumerate(container.restart_policy_rules):
        if rule.action == RESTART_ALL:
            yield f"restartPolicyRules[{index}].action"
