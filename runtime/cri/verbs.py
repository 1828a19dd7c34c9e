"""Every verb of runtime.v1 as a typed value: what to send, what comes back, whether one answer or a stream of them.

A verb is data, so that one client, one server, one fault injector and one trace treat all of them alike:
`cri.call(LIST_CONTAINERS, ListContainersRequest())` gives a `Pending[ListContainersResponse]`.
`runtime/cri/v1/verbs.py` is generated from the services of `runtime/cri/v1/api.proto`.
"""

from __future__ import annotations

from runtime.cri.base import Req as Req
from runtime.cri.base import Res as Res
from runtime.cri.base import Verb as Verb
from runtime.cri.v1.verbs import *  # noqa: F403
