"""What reading engines costs: the selective reader against the official parser, a pass against bare requests."""

import asyncio
import multiprocessing
import random
import re
import sys
import time
from collections.abc import Callable, Coroutine
from itertools import cycle
from multiprocessing.connection import Connection
from statistics import median

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.yardstick import Row, microseconds, report
from scaler_controller.sampling.http import Limits, make_session
from scaler_controller.sampling.sampler import Sampler
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.pod import Pod
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.signals.engines import read_engine
from scaler_core.signals.exposition import read_samples
from scaler_core.signals.forms import FormReader
from scaler_core.signals.names import WANTED
from scaler_core.signals.readings import read_roles
from scaler_core.signals.windows import SignalMemory
from scaler_kube.clock import SteadyClock
from tests.core.signals import texts

ROLES, PODS, IN_FLIGHT = ("a", "b", "c", "d"), 64, 32
TURNS = 100
VARIANTS = 17  # no divisor of a pass, so an engine never answers twice in a row with the same values
LABELS = 'engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"'
TTFT = ".001 .005 .01 .02 .04 .06 .08 .1 .25 .5 .75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0 160.0 640.0 2560.0".split()  # noqa: SIM905 -- readable
OTHERS = tuple(f"request_{part}_seconds" for part in ("queue", "prefill", "decode", "inference", "end_to_end", "mean"))


def family(name: str, kind: str, lines: list[str]) -> list[str]:
    return [
        f"# HELP vllm:{name} What it measures, in a sentence of ordinary length.",
        f"# TYPE vllm:{name} {kind}",
        *lines,
    ]


def histogram(name: str) -> list[str]:
    buckets = [f'vllm:{name}_bucket{{le="{bound}",{LABELS}}} {10.0 + n}' for n, bound in enumerate([*TTFT, "+Inf"])]
    totals = [f"vllm:{name}_count{{{LABELS}}} 32.0", f"vllm:{name}_sum{{{LABELS}}} 12.345678901234567"]
    return family(name, "histogram", [*buckets, *totals])


def engine_text() -> str:
    """A vLLM text of some 50 KiB: what we need, and what we do not."""
    gauges = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
    counters = ("prompt_tokens", "generation_tokens", "prefix_cache_hits", "prefix_cache_queries", "num_preemptions")
    lines = ["# TYPE process_start_time_seconds gauge", "process_start_time_seconds 1.7e+09"]
    for name in gauges:
        lines += family(name, "gauge", [f"vllm:{name}{{{LABELS}}} 0.0"])
    for name in counters:
        created = [f"# TYPE vllm:{name}_created gauge", f"vllm:{name}_created{{{LABELS}}} 1.7e+09"]
        lines += [*family(f"{name}_total", "counter", [f"vllm:{name}_total{{{LABELS}}} 1234567.0"]), *created]
    for name in ("time_to_first_token_seconds", "inter_token_latency_seconds", *OTHERS):
        lines += histogram(name)
    while len("\n".join(lines)) < 50 * 1024:
        lines += histogram(f"iteration_{len(lines)}_tokens")
    return "\n".join(lines) + "\n"


def varied(text: str, source: random.Random) -> str:
    """The same series with other values, as the next sample finds them."""

    def value(found: re.Match[str]) -> str:
        number = source.random() * 10 ** source.randrange(8)
        return f"{found[1]} {number if '_sum{' in found[1] else float(int(number))}"

    return re.sub(r"^(vllm:\S+) \S+$", value, text, flags=re.MULTILINE)


def serve(bodies: list[bytes], ready: Connection) -> None:
    """Answers with the bodies in turns, in a process of its own, as cheaply as possible."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
    answers = cycle([head % len(body) + body for body in bodies])

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(next(answers))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(talk, "0.0.0.0", 0, backlog=1024)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def fleet(port: int) -> tuple[ModelDeployment, tuple[Pod, ...]]:
    """256 engines, each at a loopback address of its own."""
    owner = {"kind": "ModelDeployment", "name": "llm", "uid": "uid", "controller": True}
    target = {
        "metadata": {"name": "llm", "uid": "uid"},
        "spec": {"roles": [{"name": role, "replicas": PODS} for role in ROLES]},
    }
    pods = [
        {
            "metadata": {
                "name": f"{role}-{ordinal}",
                "uid": f"{role}-{ordinal}",
                "labels": {
                    "app.kubernetes.io/name": "model-deployment",
                    "app.kubernetes.io/instance": "llm",
                    "app.kubernetes.io/component": role,
                    "modeldeployment.gpustack.ai/pod-ordinal": str(ordinal),
                },
                "annotations": {"prometheus.io/port": str(port)},
                "ownerReferences": [owner],
            },
            "status": {
                "podIP": f"127.0.{number + 1}.{ordinal + 1}",
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for number, role in enumerate(ROLES)
        for ordinal in range(PODS)
    ]
    return ModelDeployment.from_wire(target), tuple(Pod.from_wire(pod) for pod in pods)


async def bare(session: aiohttp.ClientSession, urls: list[str]) -> None:
    """The same requests with nothing around them."""
    queue = iter(urls)

    async def work() -> None:
        for url in queue:
            async with session.get(url) as response:
                await response.read()

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


async def in_turns(
    first: Callable[[], Coroutine[None, None, object]], second: Callable[[], Coroutine[None, None, object]]
) -> tuple[float, float]:
    """How many times the first one's processor time the second one costs, and the second's seconds: medians.

    Both are taken in turns, so that a neighbour on the machine slows both. The engines have a process of their own.
    """
    ratios, seconds = [], []
    for _ in range(TURNS):
        times = []
        for work in (first, second):
            start = time.process_time()
            await work()
            times.append(time.process_time() - start)
        ratios.append(times[1] / times[0])
        seconds.append(times[1])
    return median(ratios), median(seconds)


async def passes(port: int) -> tuple[float, float, float]:
    """A sampling pass as a multiple of bare requests and in seconds; microseconds of judging its result."""
    target, pods = fleet(port)
    urls = [f"http://{pod.status.pod_ip}:{port}/metrics" for pod in pods]
    async with make_session() as session:
        sampler = Sampler(lambda: session, SteadyClock(), Limits(request_seconds=30, pass_seconds=60))
        multiple, seconds = await in_turns(
            lambda: bare(session, urls), lambda: sampler.sample(target, ROLES, pods, 120.0)
        )
        scrape = await sampler.sample(target, ROLES, pods, 120.0)
    spec = ScalerSpec.from_wire(
        {
            "targetRef": {"name": "llm"},
            "roles": [{"name": role, "maxReplicas": PODS} for role in ROLES],
            "algorithm": {"type": "TokenThroughput", "tokenThroughput": {}},
        }
    )
    judged = microseconds(lambda: read_roles(scrape, target, pods, spec, SignalMemory(), scrape.taken_at))
    return multiple, seconds, judged


def main() -> None:
    text, source, forms = engine_text(), random.Random(1), FormReader()
    official = microseconds(lambda: list(text_string_to_metric_families(text)))
    variants = [varied(text, source) for _ in range(VARIANTS)]
    for each in (text, *variants):
        if texts.ours(each) != texts.official(each) or forms.read(each.encode()) != read_engine(each):
            sys.exit("the readers disagree")
    bodies = [each.encode() for each in variants]
    turns = cycle(bodies)
    again = microseconds(lambda: forms.read(next(turns)))
    ours, samples = microseconds(lambda: read_engine(text)), microseconds(lambda: read_samples(text, WANTED))
    parent, child = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(bodies, child), daemon=True)
    server.start()
    try:
        multiple, seconds, judged = asyncio.run(passes(parent.recv()))
    finally:
        server.terminate()
    rows = [
        Row(
            name="lines of a 50 KiB text, share of prometheus_client's",
            value=100 * samples / official,
            limit=4,
            unit="%",
        ),
        Row(
            name="counters of a 50 KiB text, share of prometheus_client's",
            value=100 * ours / official,
            limit=4,
            unit="%",
        ),
        Row(name="counters of a 50 KiB text", value=ours, limit=2000, unit="us"),
        Row(
            name="counters of a 50 KiB text of a known form, share of prometheus_client's",
            value=100 * again / official,
            limit=2,
            unit="%",
        ),
        # Processor time of the client, as the engines have another process. Of a bare request the pass's costs 80 %
        # (URLs are parsed once, one timer serves all), keeping and filing its body 10 %, and reading it 50 to 60 %:
        # line feeds and beginnings 20, sixty numbers 20, counters and histograms 15. That is 140 to 149 % on a quiet
        # machine; on a busy one the caches forget more of a pass than of a bare request, and it can be 165 %.
        Row(name="a pass over 256 engines, share of bare requests", value=100 * multiple, limit=150, unit="%"),
        Row(name="a pass over 256 engines, processor time", value=seconds * 1e6, limit=1_000_000, unit="us"),
        Row(name="readings of 256 Pods", value=judged, limit=50_000, unit="us"),
    ]
    report("signals", rows)


if __name__ == "__main__":
    main()
