"""The runtime that a configuration names: where its services are asked, and how long a call may take."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import msgspec

from cli.run.node_start import open_runtime
from config.kubelet import KubeletConfiguration, default_configuration
from config.kubelet.feature_gates import FeatureGates
from runtime.cri.messages import (
    Image,
    ListImagesRequest,
    ListImagesResponse,
    StatusRequest,
    StopContainerRequest,
    StreamImagesResponse,
)
from runtime.cri.messages import StopContainerResponse as Stopped
from runtime.cri.server import CriServer
from runtime.cri.verbs import LIST_IMAGES, STATUS, STOP_CONTAINER
from tests.runtime.cri.tiny import TinyCri

SECOND_NS = 10**9
PATIENCE_S = 60.0


def configured(**fields: object) -> KubeletConfiguration:
    return msgspec.structs.replace(default_configuration(), **fields)


def test_a_call_may_take_as_long_as_runtime_request_timeout_says(tmp_path: Path) -> None:
    runtime = TinyCri(StopContainer=Stopped())
    with CriServer(runtime, endpoint := f"unix://{tmp_path}/cri.sock"):
        configuration = configured(container_runtime_endpoint=endpoint, runtime_request_timeout=1000 * SECOND_NS)
        with open_runtime(configuration, FeatureGates({})) as cri:
            cri.call(STATUS, StatusRequest()).result(PATIENCE_S)
            cri.call(STOP_CONTAINER, StopContainerRequest(container_id="c", timeout=500)).result(PATIENCE_S)
    (_, _, plain), (_, _, stop) = runtime.asked
    assert plain is not None
    assert stop is not None
    assert 900 < plain / SECOND_NS < 1100, "gRPC rounds what it sends"
    assert 1400 < stop / SECOND_NS < 1600


def test_lists_come_in_parts_where_the_gate_is_on(tmp_path: Path) -> None:
    image = Image(id="a")
    runtime = TinyCri(StreamImages=(StreamImagesResponse(images=(image,)),), ListImages=ListImagesResponse())
    with CriServer(runtime, endpoint := f"unix://{tmp_path}/cri.sock"):
        configuration = configured(container_runtime_endpoint=endpoint)
        for gate, images in ((True, (image,)), (False, ())):
            with open_runtime(configuration, FeatureGates({"CRIListStreaming": gate})) as cri:
                assert cri.call(LIST_IMAGES, ListImagesRequest()).result(PATIENCE_S).images == images


def test_images_are_asked_at_image_service_endpoint(tmp_path: Path) -> None:
    runtime, images = TinyCri(), TinyCri(ListImages=ListImagesResponse())
    with ExitStack() as stack:
        for name, tiny in (("runtime", runtime), ("images", images)):
            stack.enter_context(CriServer(tiny, f"unix://{tmp_path}/{name}.sock"))
        configuration = configured(
            container_runtime_endpoint=f"unix://{tmp_path}/runtime.sock",
            image_service_endpoint=f"unix://{tmp_path}/images.sock",
        )
        cri = stack.enter_context(open_runtime(configuration, FeatureGates({})))
        cri.call(LIST_IMAGES, ListImagesRequest()).result(PATIENCE_S)
        cri.call(STATUS, StatusRequest()).result(PATIENCE_S)
    assert ([name for name, *_ in runtime.asked], [name for name, *_ in images.asked]) == (["Status"], ["ListImages"])
