"""The node's current credentials for the API server: token, password, or from a plugin.

Owns how long a credential is good for. A token file is read again every minute, and when the server refused the token:
somebody replaces it there while we run. A plugin runs when its credential expires or was refused, once for all calls
that wait. After a failure or a refusal it does not run again for 5 s, so a broken plugin causes no storm of processes.

Everything here runs on the loop. What can fail is `fetch` (CredentialsError). No message has a secret in it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections.abc import Callable, Mapping

import msgspec

from config.credentials.kubeconfig import ApiAccess, ExecPlugin, Pem
from config.credentials.masked import masked
from runtime.api.exec_credential import CredentialPluginError, PluginAnswer, exec_info, read_answer
from runtime.api.observer import EXECUTION_ERROR, NO_ERROR, NOT_FOUND_ERROR, UNOBSERVED, ApiObserver
from runtime.api.tls import Pair
from runtime.files.text_file import text_or_empty
from runtime.io.programs import Limits, ProgramCutShortError, run_to_end

TOKEN_FILE_EVERY_NS = 60 * 10**9
PLUGIN_REST_NS = 5 * 10**9
PLUGIN_TIMEOUT_SECONDS = 60.0
STDERR_SHOWN_CHARACTERS = 500
FAILED_TO_RUN = 1
"""The exit status that upstream counts for a plugin that could not be run."""
PRINTED_BYTES_AT_MOST = 1024 * 1024
"""An ExecCredential has a token, or a certificate with its key."""
LIMITS = Limits(PLUGIN_TIMEOUT_SECONDS, PRINTED_BYTES_AT_MOST, 4 * STDERR_SHOWN_CHARACTERS)


class CredentialsError(Exception):
    """There are no credentials for the server."""


class Held(msgspec.Struct, frozen=True):
    """The credentials of one call: an Authorization header ("" for none), and a plugin's certificate."""

    authorization: str = ""
    pair: Pair | None = None

    def __repr__(self) -> str:
        """A repr ends in logs."""
        return "Held(...)"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that a server may repeat: the token, or the password with and without its name."""
        scheme, _, shown = self.authorization.partition(" ")
        if scheme != "Basic":
            return (shown,)
        return (shown, base64.b64decode(shown).decode().partition(":")[2])


class Credentials:
    """The credentials of the user of `access`. Tests pass clocks of their own."""

    def __init__(
        self,
        access: ApiAccess,
        *,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wall_ns: Callable[[], int] = time.time_ns,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._access = access
        self._user = access.user
        self._now_ns = now_ns
        self._wall_ns = wall_ns
        self._environment = os.environ if environment is None else environment
        self._held: Held | None = None
        self._good_until_ns: int | None = None
        self._read_at_ns = 0
        self._rest_until_ns = 0
        self._failure = ""
        self._running: asyncio.Task[Held] | None = None
        self.observer: ApiObserver = UNOBSERVED
        if self._user.exec is None and not self._user.token_file:
            self._held = _static(access)

    def current(self) -> Held | None:
        """The credentials that need no plugin run now; None: call `fetch`. Raises CredentialsError."""
        if self._user.token_file:
            return self._from_file()
        if self._held is None or self._good_until_ns is None or self._wall_ns() < self._good_until_ns:
            return self._held
        return None

    async def fetch(self) -> Held:
        """Run the plugin, or wait for the run that is under way. Raises CredentialsError."""
        plugin = self._user.exec
        if plugin is None:
            raise CredentialsError("the kubeconfig names no credential plugin")
        if self._running is None:
            if self._failure and self._now_ns() < self._rest_until_ns:
                raise CredentialsError(self._failure)
            self._running = asyncio.get_running_loop().create_task(self._run(plugin))
            self._running.add_done_callback(self._ran)
        # A caller that is cancelled does not end the run, others wait for it too.
        return await asyncio.shield(self._running)

    def refused(self, held: Held) -> bool:
        """The server did not accept `held`. True when another try would show something else."""
        if self._user.token_file:
            self._read_at_ns = self._now_ns() - TOKEN_FILE_EVERY_NS
            return self._from_file() != held
        if self._user.exec is None:
            return False
        if held is not self._held:
            return True
        if self._now_ns() < self._rest_until_ns:
            return False
        self._held = None
        return True

    def plugin_certificate(self) -> Pem | None:
        """The certificate that a plugin gave; None without one."""
        held = self._held
        return held.pair[0] if self._user.exec is not None and held is not None and held.pair is not None else None

    async def close(self) -> None:
        """Ends a plugin that runs."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def _from_file(self) -> Held:
        now_ns = self._now_ns()
        if self._held is not None and now_ns - self._read_at_ns < TOKEN_FILE_EVERY_NS:
            return self._held
        path = self._user.token_file
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read().strip()
            why = "" if token else "it is empty"
        except (OSError, UnicodeDecodeError) as error:
            token, why = "", (error.strerror or str(error)) if isinstance(error, OSError) else "it is not text"
        if token:
            self._held = Held(f"Bearer {token}")
            self._read_at_ns = now_ns
        elif self._held is None:
            if not self._user.token:
                raise CredentialsError(f"token file {path}: {why}")
            return Held(f"Bearer {self._user.token}")
        else:
            self._read_at_ns = now_ns  # what was read last is the best there is
        return self._held

    async def _run(self, plugin: ExecPlugin) -> Held:
        try:
            answer = await self._answer_of(plugin)
        except CredentialPluginError as error:
            self._failure = str(error)
            raise CredentialsError(self._failure) from None
        finally:
            self._rest_until_ns = self._now_ns() + PLUGIN_REST_NS
        self._failure = ""
        self._good_until_ns = answer.expires_ns
        self._held = Held(f"Bearer {answer.token}" if answer.token else "", answer.pair)
        return self._held

    def _ran(self, run: asyncio.Task[Held]) -> None:
        self._running = None
        if not run.cancelled():
            run.exception()  # somebody has looked at it, even if all who waited are gone

    async def _answer_of(self, plugin: ExecPlugin) -> PluginAnswer:
        authority = self._access.cluster.certificate_authority
        pem = authority.data or (text_or_empty(authority.path) if plugin.provide_cluster_info else "")
        environment = dict(self._environment) | dict(plugin.env)
        environment["KUBERNETES_EXEC_INFO"] = exec_info(plugin, self._access.cluster, pem)
        try:
            ended = await run_to_end([plugin.command, *plugin.args], environment, LIMITS)
        except (OSError, ValueError) as error:
            not_found = isinstance(error, FileNotFoundError)
            self.observer.plugin_ran(NOT_FOUND_ERROR if not_found else EXECUTION_ERROR, FAILED_TO_RUN)
            raise CredentialPluginError(
                _with_hint(plugin, f"{plugin.command} cannot be run: {_reason(error)}")
            ) from None
        except ProgramCutShortError as error:
            raise CredentialPluginError(_with_hint(plugin, f"{plugin.command} {error}")) from None
        self.observer.plugin_ran(EXECUTION_ERROR if ended.status else NO_ERROR, ended.status)
        if ended.status:
            heard = masked(ended.complaints.decode(errors="replace"), _secrets_of(plugin, ended.output))
            said = " ".join(heard.split())[-STDERR_SHOWN_CHARACTERS:]
            why = f"{plugin.command} ended with status {ended.status}" + (f": {said}" if said else "")
            raise CredentialPluginError(_with_hint(plugin, why))
        return read_answer(plugin, ended.output)


def _static(access: ApiAccess) -> Held:
    user = access.user
    if user.token:
        return Held(f"Bearer {user.token}")
    if user.username or user.password:
        pair = f"{user.username}:{user.password}".encode()
        return Held(f"Basic {base64.b64encode(pair).decode()}")
    return Held()


def _secrets_of(plugin: ExecPlugin, printed: bytes) -> tuple[str, ...]:
    """The secrets in the plugin's input and output, even if it failed afterwards."""
    return (*(value for _, value in plugin.env), *plugin.args, printed.decode(errors="replace").strip())


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _with_hint(plugin: ExecPlugin, why: str) -> str:
    return f"{why}; {plugin.install_hint.strip()}" if plugin.install_hint else why
