"""Every verb of runtime.v1 as a typed value: request, response, and whether it is a stream.

A verb is data, so that client, server, fault injection and trace treat all verbs alike: `cri.call(LIST_CONTAINERS,
ListContainersRequest())` gives a `Pending[ListContainersResponse]`. `runtime/cri/v1/verbs.py` is generated from the
services of `runtime/cri/v1/api.proto`.
"""

from __future__ import annotations

from runtime.cri.base import Req as Req
from runtime.cri.base import Res as Res
from runtime.cri.base import Verb as Verb
from runtime.cri.v1.verbs import *  # noqa: F403
