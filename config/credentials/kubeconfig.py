"""How to reach an API server: one context of a kubeconfig document, decoded and checked. Pure.

Owns the format (v1 `Config`, YAML or JSON), which of its fields exclude each other, and that relative paths begin at
the directory of the file. Every fault has its place. Gives paths, not the contents behind them: files are read, and
plugins run, by `runtime.api` when they are needed. Fields this program does not know are left out, as by every other
reader of the format, but told as warnings: most are misspelled.

Nothing here shows a secret in its repr or in a fault.
"""

from __future__ import annotations

import base64
import posixpath
from typing import Any

import msgspec

from config.credentials.kubeconfig_fields import Fields
from config.credentials.masked_urls import masked_url
from config.documents.codec import DocumentError
from config.documents.places import DocumentPlace
from config.documents.text import read_document
from config.documents.writing import yaml_text

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"
"""The extension of a cluster that an exec plugin receives."""

_SCHEMES = ("https://", "http://")


class ExecPlugin(msgspec.Struct, frozen=True):
    """A program that prints credentials.

    `command` has a path or is searched for; `env` is added to our environment.
    """

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    provide_cluster_info: bool = False
    install_hint: str = ""

    def __repr__(self) -> str:
        """Its arguments and variables may be secret."""
        return f"ExecPlugin({self.command!r}, ...)"


class Impersonation(msgspec.Struct, frozen=True):
    """The user to impersonate; empty: none. `extra` has each key with its values."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Pem(msgspec.Struct, frozen=True):
    """Certificates or a key: the file they are in, or the PEM text itself. Both empty: none are given."""

    path: str = ""
    data: str = ""

    def __bool__(self) -> bool:
        return bool(self.path or self.data)

    def __repr__(self) -> str:
        return f"Pem(path={self.path!r}, {len(self.data)} characters)"


NO_PEM = Pem()


class ClusterAccess(msgspec.Struct, frozen=True):
    """The server. `server` is a URL without slash at its end; `proxy_url` empty: as the environment says."""

    server: str
    certificate_authority: Pem = NO_PEM
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    exec_extension: msgspec.Raw | None = None

    @property
    def shown(self) -> str:
        """The server for people: without a password, which is not honoured either."""
        return masked_url(self.server)

    def __repr__(self) -> str:
        """The proxy may have a password; a repr ends in logs."""
        return f"ClusterAccess({self.shown!r}, ...)"


class UserAccess(msgspec.Struct, frozen=True):
    """The credentials of a user. All empty: anonymous. `token_file` wins over `token`."""

    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    client_certificate: Pem = NO_PEM
    client_key: Pem = NO_PEM
    exec: ExecPlugin | None = None
    impersonate: Impersonation = Impersonation()

    def __repr__(self) -> str:
        """A repr ends in logs and traces."""
        return "UserAccess(...)"


class ApiAccess(msgspec.Struct, frozen=True):
    """One context: a cluster, a user, and the default namespace.

    All paths are as in the file, joined with its directory. `warnings`: the parts of the document without effect.
    """

    cluster: ClusterAccess
    user: UserAccess = UserAccess()
    namespace: str = "default"
    context: str = ""
    warnings: tuple[DocumentError, ...] = ()


def decode_kubeconfig(data: bytes, directory: str, context: str = "") -> ApiAccess:
    """The access of `context`, or of the document's current context.

    Raises DocumentError with every fault.

    `directory` is that of the file, absolute. Only what the context refers to is checked.
    """
    value, faults = read_document(data)
    if not faults and value is None:
        faults.append(DocumentError("$", "the document is empty", "a kubeconfig has clusters, users and contexts"))
    if faults:
        raise _together(faults)
    root = DocumentPlace()
    document = Fields(root, value)
    if root.faults:
        raise _together(root.faults)
    _check_header(document)
    clusters = document.named("clusters", "cluster")
    users = document.named("users", "user")
    contexts = document.named("contexts", "context")
    current = document.text("current-context")
    name, where = (context, DocumentPlace("--context", root.faults)) if context else (current, root / "current-context")
    document.ignore("preferences", "extensions")
    found = _chosen(contexts, "context", name, where, "choose one with current-context")
    access = _access(found, name, clusters, users, directory) if found is not None else None
    document.rest()
    if root.faults or access is None:
        raise _together(root.faults)
    return msgspec.structs.replace(access, warnings=tuple(document.warnings))


def kubeconfig_document(
    server: str,
    *,
    name: str = "actorlet",
    user: str = "",
    namespace: str = "",
    certificate_authority: Pem = NO_PEM,
    insecure_skip_tls_verify: bool = False,
    token: str = "",
    client_certificate: Pem = NO_PEM,
    client_key: Pem = NO_PEM,
) -> bytes:
    """A kubeconfig in YAML with one cluster, one user and one context.

    All three are called `name`, unless `user` names the user.
    """
    user = user or name
    cluster: dict[str, Any] = {"server": server, **_pem_fields("certificate-authority", certificate_authority)}
    if insecure_skip_tls_verify:
        cluster["insecure-skip-tls-verify"] = True
    who: dict[str, Any] = {"token": token} if token else {}
    who |= _pem_fields("client-certificate", client_certificate) | _pem_fields("client-key", client_key)
    context = {"cluster": name, "user": user} | ({"namespace": namespace} if namespace else {})
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": who}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }
    return yaml_text(document).encode()


def _pem_fields(name: str, pem: Pem) -> dict[str, str]:
    if pem.data:
        return {f"{name}-data": base64.b64encode(pem.data.encode()).decode()}
    return {name: pem.path} if pem.path else {}


def _together(faults: list[DocumentError]) -> DocumentError:
    first, *rest = faults
    return DocumentError(first.path, first.reason, first.hint, tuple(rest))


def _check_header(document: Fields) -> None:
    """Both fields may be missing; other readers do without them as well."""
    for field, expected in (("apiVersion", "v1"), ("kind", "Config")):
        found = document.text(field)
        if found and found != expected:
            (document.place / field).fault(f"is {found!r}, which this is not", f"write '{field}: {expected}'")


def _chosen(entries: dict[str, Fields], what: str, name: str, where: DocumentPlace, hint: str) -> Fields | None:
    if name in entries:
        return entries[name]
    have = f"there are {', '.join(sorted(entries))}" if entries else f"the document has no {what}s"
    if name:
        where.fault(f"there is no {what} {name!r}", have)
    else:
        where.fault(f"names no {what}", f"{hint}; {have}")
    return None


def _access(
    context: Fields, name: str, clusters: dict[str, Fields], users: dict[str, Fields], directory: str
) -> ApiAccess | None:
    context.ignore("extensions")
    place = context.place
    cluster = _chosen(clusters, "cluster", context.text("cluster"), place / "cluster", "every context needs one")
    user_name = context.text("user")
    user = _chosen(users, "user", user_name, place / "user", "") if user_name else None
    namespace = context.text("namespace") or "default"
    context.rest()
    who = _user(user, directory) if user is not None else UserAccess()
    return ApiAccess(_cluster(cluster, directory), who, namespace, name) if cluster is not None else None


def _cluster(fields: Fields, directory: str) -> ClusterAccess:
    server = fields.text("server").rstrip("/")
    if not server:
        (fields.place / "server").fault("is missing", "write the URL of the API server: https://10.0.0.1:6443")
    elif not server.startswith(_SCHEMES):
        shown = masked_url(f"https://{server.rpartition('://')[2]}")
        (fields.place / "server").fault(f"{masked_url(server)!r} is not a URL", f"write {shown}")
    authority = _pem(fields, "certificate-authority", directory)
    insecure = fields.flag("insecure-skip-tls-verify")
    if authority and insecure:
        hint = "remove insecure-skip-tls-verify: the certificate can be verified"
        (fields.place / "insecure-skip-tls-verify").fault("excludes a certificate authority", hint)
    proxy = fields.text("proxy-url")
    if proxy and not proxy.startswith(_SCHEMES):
        (fields.place / "proxy-url").fault(
            f"{masked_url(proxy)!r} is not a proxy this program can use", "give an http:// or https:// URL"
        )
    extension = fields.named("extensions", "extension", any_value=True).get(EXEC_EXTENSION)
    access = ClusterAccess(
        server=server,
        certificate_authority=authority,
        insecure_skip_tls_verify=insecure,
        tls_server_name=fields.text("tls-server-name"),
        proxy_url=proxy,
        disable_compression=fields.flag("disable-compression"),
        exec_extension=msgspec.Raw(msgspec.json.encode(extension.value)) if extension is not None else None,
    )
    fields.rest()
    return access


def _user(fields: Fields, directory: str) -> UserAccess:
    provider = fields.take("auth-provider")
    if provider is not None:
        hint = "use an exec plugin; the cloud that made this file has one"
        (fields.place / "auth-provider").fault("built-in providers are gone from Kubernetes", hint)
    fields.ignore("extensions")
    access = UserAccess(
        token=fields.text("token").strip(),
        token_file=_path(fields.text("tokenFile"), directory),
        username=fields.text("username"),
        password=fields.text("password"),
        client_certificate=_pem(fields, "client-certificate", directory),
        client_key=_pem(fields, "client-key", directory),
        exec=_exec(fields, directory),
        impersonate=Impersonation(
            fields.text("as"), fields.text("as-uid"), fields.texts("as-groups"), fields.texts_by_key("as-user-extra")
        ),
    )
    fields.rest()
    _check_user(fields.place, access)
    return access


def _check_user(place: DocumentPlace, user: UserAccess) -> None:
    if user.client_certificate and not user.client_key:
        (place / "client-key").fault("is missing beside the client certificate", "give client-key or client-key-data")
    if user.client_key and not user.client_certificate:
        hint = "give client-certificate or client-certificate-data"
        (place / "client-certificate").fault("is missing beside the client key", hint)
    ways = [
        name
        for name, given in (
            ("a token", user.token or user.token_file),
            ("a username and password", user.username or user.password),
            ("an exec plugin", user.exec),
        )
        if given
    ]
    if len(ways) > 1:
        place.fault(f"has {' and '.join(ways)}", "keep one of them")
    who = user.impersonate
    if not who.user and (who.uid or who.groups or who.extra):
        (place / "as").fault(
            "is missing beside what else is impersonated", "name the user, or remove the other as- fields"
        )


def _exec(fields: Fields, directory: str) -> ExecPlugin | None:
    plugin = fields.part("exec")
    if plugin is None:
        return None
    version, command = plugin.text("apiVersion"), plugin.text("command")
    if version not in EXEC_VERSIONS:
        reason = f"is {version!r}, which is not spoken" if version else "is missing"
        (plugin.place / "apiVersion").fault(reason, f"write {EXEC_VERSIONS[0]}, if the plugin knows it")
    if not command:
        (plugin.place / "command").fault("is missing", "name the program that prints credentials")
    mode = plugin.text("interactiveMode")
    if mode == "Always":
        (plugin.place / "interactiveMode").fault(
            "Always needs a person to type", "a node has none; use a user of its own"
        )
    elif mode not in ("", "Never", "IfAvailable"):
        (plugin.place / "interactiveMode").fault(f"{mode!r} is unknown", "write Never or IfAvailable")
    elif not mode and version == EXEC_VERSIONS[0]:
        (plugin.place / "interactiveMode").fault("is missing", "write Never or IfAvailable")
    env = []
    for variable in plugin.parts("env"):
        name, value = variable.text("name"), variable.text("value")
        if not name or "=" in name or "\0" in name + value:
            (variable.place / "name").fault("is not the name of an environment variable", "write name and value")
        env.append((name, value))
        variable.rest()
    access = ExecPlugin(
        api_version=version,
        # A command without a slash is searched for in PATH.
        command=_path(command, directory) if "/" in command else command,
        args=plugin.texts("args"),
        env=tuple(env),
        provide_cluster_info=plugin.flag("provideClusterInfo"),
        install_hint=plugin.text("installHint"),
    )
    plugin.rest()
    return access


def _pem(fields: Fields, name: str, directory: str) -> Pem:
    """The data wins over the file, as in every reader of the format."""
    path = _path(fields.text(name), directory)
    data = fields.pem(f"{name}-data")
    return Pem(data=data) if data else Pem(path)


def _path(path: str, directory: str) -> str:
    return posixpath.join(directory, path) if path else ""
