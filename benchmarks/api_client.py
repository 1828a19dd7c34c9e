"""What the client of the API server costs, compared with plain aiohttp.

Both run on the same machine in the same run.

    python -m benchmarks.api_client [--json] [--calls 5000]

Each measurement runs in a fresh process. The server runs in another one on loopback, so the CPU time is the client's
alone. A call is a PATCH of a pod's status of some 2 KB; the answer is the pod.

- `burst` starts all calls at once, as a node does when a thousand pods come.
- `one by one` waits for each call, as `kubectl` does.
- `plain aiohttp` makes the same requests in one loop, without threads, and decodes nothing. The difference to it is the
  cost of the client.
- `watch` reads events of such pods.

The numbers depend on the machine and the moment: compare within a run, not between runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp import web

from config.api.resources import PODS
from config.credentials.kubeconfig import ApiAccess, ClusterAccess, UserAccess
from runtime.api import ApiError, WatchEvent, patch, watch_objects
from runtime.api.lines import HttpApiLines, api_lines
from runtime.io.event_loop import LoopThread

CALLS = 5_000
ROUNDS = 3
IN_FLIGHT = 32
WATCHED = 20_000


def pod(number: int) -> dict[str, Any]:
    """A pod as large as a small real one."""
    conditions = [
        {"type": name, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for name in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    container = {"name": "web", "image": "registry.example.com/web:1", "resources": {"limits": {"cpu": "1"}}}
    ran = {"name": "web", "ready": True, "restartCount": 0, "image": "web:1", "imageID": "sha256:" + "a" * 64}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"web-{number}",
            "namespace": "default",
            "uid": str(number),
            "resourceVersion": str(number),
        },
        "spec": {"containers": [container], "nodeName": "node", "restartPolicy": "Always"},
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [ran], "podIP": "10.0.0.1"},
    }


# --- the server, a process of its own -------------------------------------------------------------------------------


async def serve() -> None:
    answer = json.dumps(pod(1)).encode()

    async def one(request: web.Request) -> web.StreamResponse:
        await request.read()
        return web.Response(body=answer, content_type="application/json")

    async def watch(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        line = json.dumps({"type": "MODIFIED", "object": pod(1)}).encode() + b"\n"
        for _ in range(WATCHED // 100):
            await response.write(line * 100)
        return response

    app = web.Application()
    app.router.add_get("/api/v1/pods", watch)
    app.router.add_route("*", "/{rest:.*}", one)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


# --- the measurements, each run in a process of its own -------------------------------------------------------------

CALL = patch(PODS, "default", "web", {"status": pod(1)["status"]}, subresource="status")


def lines_to(url: str) -> HttpApiLines:
    access = ApiAccess(ClusterAccess(url), UserAccess(token="benchmark"))
    return api_lines(access, LoopThread(), user_agent="actorlet/benchmark", qps=None, event_qps=None)


def measured(work: Callable[[int], None], calls: int) -> dict[str, float]:
    work(min(calls, 200))
    cpu, began = time.process_time(), time.perf_counter()
    work(calls)
    cpu, took = time.process_time() - cpu, time.perf_counter() - began
    return {"cpu_us_each": cpu / calls * 1e6, "each_second": calls / took}


def burst(url: str, calls: int) -> dict[str, float]:
    lines = lines_to(url)

    def work(count: int) -> None:
        for pending in [lines.main.call(CALL) for _ in range(count)]:
            pending.result(60)

    return measured(work, calls)


def one_by_one(url: str, calls: int) -> dict[str, float]:
    lines = lines_to(url)

    def work(count: int) -> None:
        for _ in range(count):
            lines.main.call(CALL).result(60)

    return measured(work, calls // 5)


def plain_aiohttp(url: str, calls: int) -> dict[str, float]:
    async def ask(session: aiohttp.ClientSession, count: int) -> None:
        headers = {"Content-Type": CALL.content_type, "Authorization": "Bearer benchmark"}
        for _ in range(count):
            async with session.patch(f"{url}{CALL.path}", data=CALL.body, headers=headers) as response:
                await response.read()

    async def run(count: int) -> None:
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*[ask(session, count // IN_FLIGHT) for _ in range(IN_FLIGHT)])

    return measured(lambda count: asyncio.run(run(count)), calls // IN_FLIGHT * IN_FLIGHT)


def watch(url: str, _: int) -> dict[str, float]:
    lines = lines_to(url)

    def work(_: int) -> None:
        ended = threading.Event()
        ends: list[ApiError | None] = []
        seen: list[WatchEvent[Any]] = []

        def on_end(error: ApiError | None) -> None:
            ends.append(error)
            ended.set()

        lines.main.watch(watch_objects(PODS, resource_version="1"), seen.append, on_end)
        ended.wait(60)
        assert ends == [None], ends
        assert len(seen) == WATCHED, len(seen)

    return measured(work, WATCHED)


MEASUREMENTS: dict[str, Callable[[str, int], dict[str, float]]] = {
    "burst": burst,
    "one by one": one_by_one,
    "plain aiohttp": plain_aiohttp,
    "watch": watch,
}


def in_fresh_process(name: str, url: str, calls: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.api_client", "--calls", str(calls), "--url", url, "--only", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def best(name: str, url: str, calls: int) -> dict[str, float]:
    """The round with the least disturbance."""
    return min((in_fresh_process(name, url, calls) for _ in range(ROUNDS)), key=lambda round_: round_["cpu_us_each"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    if options.only:
        print(json.dumps(MEASUREMENTS[options.only](options.url, options.calls)), flush=True)
        os._exit(0)  # the loop's thread is a daemon and needs no clean-up
    command = [sys.executable, "-m", "benchmarks.api_client", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        results = {name: best(name, url, options.calls) for name in MEASUREMENTS}
        server.terminate()
    if options.json:
        print(json.dumps(results, indent=2))
        return
    print(f"{'':16}{'CPU us each':>14}{'each second':>14}")
    for name, found in results.items():
        print(f"{name:16}{found['cpu_us_each']:14.0f}{found['each_second']:14.0f}")


if __name__ == "__main__":
    main()
