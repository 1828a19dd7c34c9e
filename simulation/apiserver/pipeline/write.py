"""The stages of a write, in the order of a kube-apiserver.

A body is read (`decode`), and a patch is applied to the object before (`patch`, `apply`). What comes out is read as an
object of its kind, gets its defaults and loses what is not stored. If it is stored in another version, it becomes what
would be read of it (`convert`). Whoever has sent it owns the fields that it changes (`manage`). Plugins and webhooks
may change it (`admit`). The server sets its own fields, status and generation (`prepare`), in the stored version
(`as_stored`). Then it is checked (`validate`), judged by plugins and webhooks (`review`), and stored if it differs
(`save`). A kind has its rules in a strategy, whose methods are named for these stages. Kube-apiserver does the same in
`endpoints/handlers`, `registry/generic/registry/store.go` and `registry/rest`.

A stage takes a `Write` and changes its value, or raises StatusError; nothing is stored before the last one. Admission
may raise ReviewWantedError: then the request begins again with an answer more.
"""

from __future__ import annotations

from simulation.apiserver.fields.managers import Managed
from simulation.apiserver.pipeline.admit import admit, review
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.convert import as_stored, convert
from simulation.apiserver.pipeline.decode import decode_body, decode_object
from simulation.apiserver.pipeline.default import default
from simulation.apiserver.pipeline.manage import manage
from simulation.apiserver.pipeline.patch import patch
from simulation.apiserver.pipeline.prepare import prepare
from simulation.apiserver.pipeline.prune import prune
from simulation.apiserver.pipeline.save import save
from simulation.apiserver.pipeline.stage import begin
from simulation.apiserver.pipeline.validate import validate
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Version

OF_REQUESTS = (decode_body, patch)
"""How the body of a request becomes an object."""
OF_OBJECTS = (decode_object, default, prune, convert, manage, admit, as_stored, prepare, validate, review)
"""How an object becomes one that is stored."""


def write(context: Context, call: ResourceCall, old: Version | None) -> Version:
    """Store what the request says, in place of `old` or as a new object. Raises StatusError."""
    this = begin(context, call, old, {})
    for stage in (*OF_REQUESTS, *OF_OBJECTS):
        stage(this)
    return save(this)


def write_value(
    context: Context, call: ResourceCall, old: Version | None, value: Json, managed: Managed | None = None
) -> Version:
    """Store an object that the server itself has made, as `write` does. Raises StatusError.

    `managed`: the owners of its fields; None: as `manage` finds them.
    """
    this = begin(context, call, old, value)
    this.managed = managed
    for stage in OF_OBJECTS:
        stage(this)
    return save(this)
