"""Who a container runs as and what it may see (spec 3.8, 17.4)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.id_ranges import IdRange
from actors.model.refusal import ContainerRefusedError
from actors.start.security import (
    MASKED_PATHS,
    READ_ONLY_PATHS,
    apparmor_profile,
    container_security,
    namespaces,
    sandbox_security,
    supplemental_groups,
)
from config.objects import (
    AppArmorProfile,
    Capabilities,
    Container,
    EphemeralContainer,
    PodSecurityContext,
    SeccompProfile,
    SecurityContext,
    SELinuxOptions,
)
from runtime.cri.messages import (
    IDMapping,
    Image,
    Int64Value,
    LinuxContainerSecurityContext,
    NamespaceMode,
    ProfileType,
    SupplementalGroupsPolicy,
    UserNamespace,
)
from tests.actors.pod_pictures import container, pod

POD, NODE, ALONE, TARGET = NamespaceMode.POD, NamespaceMode.NODE, NamespaceMode.CONTAINER, NamespaceMode.TARGET
WHOSE = '(pod: "web_shop(uid-1)", container: web)'
AND_IMAGE, CANNOT = "container has runAsNonRoot and image", "cannot verify user is non-root"
NAMED, NUMBERED, NOBODY = Image(username="app"), Image(uid=Int64Value(value=7)), Image()


def secure(
    own: SecurityContext | None = None,
    whole: PodSecurityContext | None = None,
    image: Image = NUMBERED,
    default: bool = False,
    **meta: Any,
) -> LinuxContainerSecurityContext:
    web = container("web", security_context=own)
    the_pod = pod(web, security_context=whole, meta=meta)
    return container_security(the_pod, web, "$.c", image=image, root_directory="/root", seccomp_default=default)


@pytest.mark.parametrize(
    ("own", "whole", "image", "uid", "username"),
    [
        pytest.param(None, None, NUMBERED, 7, "", id="the image's number"),
        pytest.param(None, None, NAMED, None, "app", id="the image's name"),
        pytest.param(None, None, NOBODY, 0, "", id="an image without one is root"),
        pytest.param(None, PodSecurityContext(run_as_user=5), NUMBERED, 5, "", id="the pod's"),
        pytest.param(SecurityContext(run_as_user=0), PodSecurityContext(run_as_user=5), NAMED, 0, "", id="its own"),
    ],
)
# (spec 3.8.8)
def test_user(own, whole, image: Image, uid: int | None, username: str) -> None:
    made = secure(own, whole, image)
    assert (made.run_as_user.value if made.run_as_user else None, made.run_as_username) == (uid, username)


@pytest.mark.parametrize(
    ("user", "image", "reason"),
    [
        pytest.param(0, NUMBERED, f"container's runAsUser breaks non-root policy {WHOSE}", id="asked to be root"),
        pytest.param(None, NAMED, f"{AND_IMAGE} has non-numeric user (app), {CANNOT} {WHOSE}", id="a name may be root"),
        pytest.param(None, NOBODY, f"{AND_IMAGE} will run as root {WHOSE}", id="nobody named"),
        pytest.param(None, Image(uid=Int64Value(value=0)), f"{AND_IMAGE} will run as root {WHOSE}", id="image is root"),
        pytest.param(
            None,
            Image(uid=Int64Value(value=-1)),
            "$.c.securityContext.runAsNonRoot: the image's user -1 is negative; set runAsUser",
            id="the image is wrong",
        ),
        pytest.param(None, NUMBERED, None, id="the image is somebody"),
        pytest.param(5, NAMED, None, id="asked to be somebody"),
    ],
)
# (spec 3.8.9)
def test_run_as_non_root(user: int | None, image: Image, reason: str | None) -> None:
    own = SecurityContext(run_as_non_root=True, run_as_user=user)
    if reason is None:
        secure(own, image=image)
        return
    with pytest.raises(ContainerRefusedError) as refused:
        secure(own, image=image)
    assert str(refused.value) == reason
    secure(SecurityContext(run_as_non_root=False, run_as_user=user), PodSecurityContext(run_as_non_root=True), image)


UNCONFINED, RUNTIME, LOCAL = ProfileType.Unconfined, ProfileType.RuntimeDefault, ProfileType.Localhost


@pytest.mark.parametrize(
    ("own", "whole", "default", "kind", "reference"),
    [
        pytest.param(None, None, False, UNCONFINED, "", id="nothing said"),
        pytest.param(None, None, True, RUNTIME, "", id="nothing said, seccompDefault"),
        pytest.param(None, "RuntimeDefault", False, RUNTIME, "", id="the pod's"),
        pytest.param("Unconfined", "RuntimeDefault", True, UNCONFINED, "", id="its own first"),
        pytest.param("Localhost", None, False, LOCAL, "/root/seccomp/p/x.json", id="a file of the node"),
    ],
)
# (spec 17.4.1)
def test_seccomp(own, whole, default: bool, kind: ProfileType, reference: str) -> None:
    def profile(name: str | None) -> SeccompProfile | None:
        return (
            SeccompProfile(type=name, localhost_profile="p/x.json" if name == "Localhost" else None) if name else None
        )

    made = secure(
        SecurityContext(seccomp_profile=profile(own)),
        PodSecurityContext(seccomp_profile=profile(whole)),
        default=default,
    ).seccomp
    assert made is not None
    assert (made.profile_type, made.localhost_ref) == (kind, reference)


@pytest.mark.parametrize("name", [None, "", "/etc/x", "../x", "a/../../x"])
# (spec 17.4.1)
def test_a_seccomp_profile_outside_the_directory_is_refused(name: str | None) -> None:
    with pytest.raises(ContainerRefusedError, match="localhostProfile"):
        secure(SecurityContext(seccomp_profile=SeccompProfile(type="Localhost", localhost_profile=name)))


NOTE = "container.apparmor.security.beta.kubernetes.io/web"


@pytest.mark.parametrize(
    ("profile", "note", "legacy"),
    [
        pytest.param(None, None, "", id="nothing said"),
        pytest.param(AppArmorProfile(type="RuntimeDefault"), None, "runtime/default", id="the field"),
        pytest.param(
            AppArmorProfile(type="Unconfined"), "runtime/default", "unconfined", id="the field before the note"
        ),
        pytest.param(AppArmorProfile(type="Localhost", localhost_profile="x"), None, "localhost/x", id="a local one"),
        pytest.param(None, "localhost/y", "localhost/y", id="the note"),
        pytest.param(None, "unconfined", "unconfined", id="the note says none"),
    ],
)
# (spec 17.4.2)
def test_apparmor_is_told_in_both_fields(profile: AppArmorProfile | None, note: str | None, legacy: str) -> None:
    made = secure(SecurityContext(app_armor_profile=profile), annotations={NOTE: note} if note else {})
    assert made.apparmor_profile == legacy
    assert (made.apparmor is None) == (legacy == "")


@pytest.mark.parametrize(("allowed", "no_new"), [(None, False), (True, False), (False, True)])
# (spec 17.4.3)
def test_privileges_are_closed_only_on_request(allowed: bool | None, no_new: bool) -> None:
    assert secure(SecurityContext(allow_privilege_escalation=allowed)).no_new_privs is no_new


# (spec 17.4.4)
def test_paths_of_proc_are_hidden_unless_unmasked() -> None:
    assert (secure().masked_paths, secure().readonly_paths) == (MASKED_PATHS, READ_ONLY_PATHS)
    bare = secure(SecurityContext(proc_mount="Unmasked"))
    assert (bare.masked_paths, bare.readonly_paths) == ((), ())


# (spec 3.8.8, 17.4.6)
def test_the_rest_is_passed_on() -> None:
    own = SecurityContext(
        privileged=True,
        read_only_root_filesystem=True,
        capabilities=Capabilities(add=("NET_ADMIN",), drop=("ALL",)),
        se_linux_options=SELinuxOptions(level="s0"),
        run_as_group=3,
    )
    made = secure(own)
    assert made.privileged
    assert made.readonly_rootfs
    assert made.capabilities is not None
    assert (made.capabilities.add_capabilities, made.capabilities.drop_capabilities) == (("NET_ADMIN",), ("ALL",))
    assert made.selinux_options is not None
    assert made.selinux_options.level == "s0"
    assert made.run_as_group == Int64Value(value=3)


# (spec 17.4.5)
def test_groups_are_those_of_the_pod_and_of_its_volumes_once() -> None:
    whole = PodSecurityContext(fs_group=2000, supplemental_groups=(1, 2000, 3), supplemental_groups_policy="Strict")
    assert supplemental_groups(whole) == (2000, 1, 3)
    assert secure(whole=whole).supplemental_groups_policy == SupplementalGroupsPolicy.Strict


@pytest.mark.parametrize(
    ("fields", "network", "pid", "ipc"),
    [
        pytest.param({}, POD, ALONE, POD, id="on its own"),
        pytest.param({"host_network": True}, NODE, ALONE, POD, id="the host's network"),
        pytest.param({"host_pid": True, "share_process_namespace": True}, POD, NODE, POD, id="the host's processes"),
        pytest.param({"share_process_namespace": True}, POD, POD, POD, id="processes shared in the pod"),
        pytest.param({"host_ipc": True}, POD, ALONE, NODE, id="the host's IPC"),
    ],
)
# (spec 3.9.4)
def test_namespaces(fields: dict[str, Any], network: NamespaceMode, pid: NamespaceMode, ipc: NamespaceMode) -> None:
    made = namespaces(pod("a", **fields))
    assert (made.network, made.pid, made.ipc) == (network, pid, ipc)


# (spec 3.9.4)
def test_an_ephemeral_container_sees_the_processes_of_its_target() -> None:
    made = namespaces(pod("a"), EphemeralContainer(name="e", target_container_name="a"), "id-of-a")
    assert (made.pid, made.target_id) == (TARGET, "id-of-a")


# (spec 3.9.3)
def test_the_sandbox_is_confined_and_privileged_only_for_a_container_that_is() -> None:
    free: Container = container("a", security_context=SecurityContext(privileged=True))
    made = sandbox_security(pod("b", init=(free,)))
    assert made.privileged
    assert made.seccomp is not None
    assert made.seccomp.profile_type == ProfileType.RuntimeDefault
    assert not sandbox_security(pod("b")).privileged


def test_a_user_namespace_that_cannot_be_given_is_refused_not_left_out() -> None:
    with pytest.raises(ContainerRefusedError, match=r"\$.spec.hostUsers"):
        sandbox_security(pod("a", host_users=False))


@pytest.mark.parametrize("host_users", [None, True])
# (spec 17.6.1)
def test_host_users_nil_or_true_stays_among_the_users_of_the_host(host_users: bool | None) -> None:
    assert namespaces(pod("a", host_users=host_users), ids=IdRange(65536, 65536)).userns_options is None


# (spec 17.6.1)
def test_host_users_false_maps_users_and_groups_of_the_sandbox_and_of_each_container_alike() -> None:
    ids = IdRange(131072, 65536)
    mapping = (IDMapping(host_id=131072, container_id=0, length=65536),)
    own = pod("a", host_users=False)
    expected = UserNamespace(mode=POD, uids=mapping, gids=mapping)
    sandbox = sandbox_security(own, ids).namespace_options
    assert sandbox is not None
    assert sandbox.userns_options == expected
    inside = container_security(
        own, own.spec.containers[0], "$.c", image=None, root_directory="/r", seccomp_default=False, ids=ids
    ).namespace_options
    assert inside is not None
    assert inside.userns_options == expected


@pytest.mark.parametrize(
    ("whole", "own", "note", "kind"),
    [
        pytest.param("Unconfined", "RuntimeDefault", "unconfined", ProfileType.RuntimeDefault, id="its own word"),
        pytest.param("Unconfined", None, "runtime/default", ProfileType.Unconfined, id="that of the pod"),
        pytest.param(None, None, "localhost/mine", ProfileType.Localhost, id="the annotation of old"),
        pytest.param(None, None, None, None, id="nobody says"),
    ],
)
# (spec 17.4.2)
def test_apparmor_is_that_of_the_container_of_the_pod_or_of_the_annotation(
    whole: str | None, own: str | None, note: str | None, kind: ProfileType | None
) -> None:
    own_context = SecurityContext(app_armor_profile=AppArmorProfile(type=own)) if own else None
    it = container("web", security_context=own_context)
    context = PodSecurityContext(app_armor_profile=AppArmorProfile(type=whole)) if whole else None
    the_pod = pod(it, security_context=context, meta={"annotations": {NOTE: note} if note else {}})
    made = apparmor_profile(the_pod, it)
    assert (made.profile_type if made is not None else None) == kind
