"""The composition root: settings to wired objects."""

import os
import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from scaler_controller.manager.leadership import Leadership
from scaler_controller.manager.manager import Background, Manager
from scaler_controller.manager.servers import Servers
from scaler_controller.manager.workers import Workers
from scaler_controller.reconciler.caches import BY_TARGET, Caches, Triggers
from scaler_controller.reconciler.carry_out import Executor
from scaler_controller.reconciler.observe import Observer
from scaler_controller.reconciler.own_writes import OwnWrites
from scaler_controller.reconciler.reconciler import Reconciler
from scaler_controller.reconciler.sampling_wishes import SamplingWishes
from scaler_controller.reconciler.status_writer import StatusWriter
from scaler_controller.reconciler.target_writer import TargetWriter
from scaler_controller.runtime.lease import LeaseTimes
from scaler_controller.runtime.workqueue import WorkQueue
from scaler_controller.sampling.http import Limits
from scaler_controller.sampling.sampler import Sampler
from scaler_controller.sampling.streams import SampleStreams, Subject
from scaler_controller.settings import Settings
from scaler_controller.telemetry.machinery import MachineryMetrics
from scaler_controller.telemetry.metrics import Metrics
from scaler_core.api import defaulting
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import NAME_LABEL, NAME_VALUE, Pod
from scaler_core.api.workload import Workload
from scaler_core.model.action import Note
from scaler_core.model.scrape import ScrapeFailure, TargetScrape
from scaler_core.model.world import World
from scaler_core.transactions.clock import REQUEST_DEADLINE
from scaler_kube import resources
from scaler_kube.client import KubeClient
from scaler_kube.clock import SteadyClock
from scaler_kube.event_series import Regarding
from scaler_kube.events import EventRecorder
from scaler_kube.informer import Informer, Presence
from scaler_kube.informer import Subject as Followed
from scaler_kube.resources import Resource

CONTROLLER: Final = "gpustack.ai/model-deployment-scaler"
_chance = random.Random()  # spreads retries and resyncs; nothing that is decided depends on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The kinds in the versions that this cluster serves."""

    scalers: Resource
    targets: Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What several objects share."""

    settings: Settings
    client: KubeClient
    versions: Versions
    clock: SteadyClock
    caches: Caches
    metrics: Metrics
    queue: WorkQueue
    leadership: Leadership

    def write_deadline(self) -> float:
        """An unanswered write must be over before its absence is taken for a fact, and before our lease ends."""
        longest = 0.8 * REQUEST_DEADLINE / self.clock.factor
        return self.leadership.write_deadline(min(self.settings.write_timeout_seconds, longest))


def assemble(settings: Settings, client: KubeClient, session: aiohttp.ClientSession, versions: Versions) -> Manager:
    """Every object of the process, wired."""
    clock = SteadyClock(factor=settings.clock_factor, epoch=settings.clock_epoch or 0.0)
    parts = _Parts(
        settings=settings,
        client=client,
        versions=versions,
        clock=clock,
        caches=Caches(),
        metrics=Metrics(),
        queue=WorkQueue(clock),
        leadership=_leadership(settings, client, clock),
    )
    machinery = MachineryMetrics(parts.metrics.registry)
    informers = _informers(parts)
    streams = _streams(parts, session)
    events = EventRecorder(client=client, controller=CONTROLLER, instance=settings.identity, clock=clock)
    reconciler = _reconciler(parts, streams, _telling(versions, events), lambda: informers[-1].is_served)
    return Manager(
        servers=Servers(
            host=settings.health_host,
            port=settings.health_port,
            registry=parts.metrics.registry,
            last_pass=reconciler.last_pass,
        ),
        informers=informers,
        leadership=parts.leadership,
        workers=Workers(
            queue=parts.queue,
            reconcile=reconciler.reconcile,
            count=settings.workers,
            clock=clock,
            jitter=_chance.random,
            metrics=machinery,
        ),
        keys=parts.caches.scalers.keys,
        clock=clock,
        metrics=machinery,
        resync_seconds=settings.resync_seconds,
        drain_seconds=settings.drain_seconds,
        background=(_sampling(parts, streams), Background(name="events", run=events.run)),
        flush=events.flush,
    )


def _leadership(settings: Settings, client: KubeClient, clock: SteadyClock) -> Leadership:
    times = LeaseTimes(
        lease_seconds=settings.lease_seconds,
        renew_seconds=settings.lease_renew_seconds,
        retry_seconds=settings.lease_retry_seconds,
    )
    key = ObjectKey(settings.lease_namespace, settings.lease_name)
    return Leadership(client=client, key=key, identity=settings.identity, times=times, clock=clock)


def _informers(parts: _Parts) -> Sequence[Informer[Any]]:
    """Scalers, targets, Pods and, where they are served, Workloads; the last one is asked whether they are."""
    caches, client, namespace = parts.caches, parts.client, parts.settings.namespace or None
    triggers = Triggers(caches=caches, enqueue=parts.queue.add)
    return (
        Informer(
            client=client,
            subject=Followed(versions=(parts.versions.scalers,), namespace=namespace),
            decode=defaulting.load,
            store=caches.scalers,
            jitter=_chance.random,
            handlers=(triggers.on_scaler,),
        ),
        Informer(
            client=client,
            subject=Followed(versions=(parts.versions.targets,), namespace=namespace),
            decode=ModelDeployment.from_wire,
            store=caches.targets,
            jitter=_chance.random,
            handlers=(triggers.on_target,),
        ),
        Informer(
            client=client,
            subject=Followed(versions=(resources.PODS,), namespace=namespace, labels=f"{NAME_LABEL}={NAME_VALUE}"),
            decode=Pod.from_wire,
            store=caches.pods,
            jitter=_chance.random,
            handlers=(triggers.on_pod,),
        ),
        Informer(
            client=client,
            subject=Followed(
                versions=tuple(resources.workloads(version) for version in resources.WORKLOAD_VERSIONS),
                namespace=namespace,
                presence=Presence.OPTIONAL,
            ),
            decode=Workload.from_wire,
            store=caches.workloads,
            jitter=_chance.random,
            handlers=(triggers.on_workload,),
        ),
    )


def _streams(parts: _Parts, session: aiohttp.ClientSession) -> SampleStreams:
    caches = parts.caches

    def look_up(key: ObjectKey) -> Subject | None:
        target = caches.targets.get(key)
        return None if target is None else Subject(target=target, pods=caches.pods.by_index(BY_TARGET, key))

    def on_sample(key: ObjectKey, scrape: TargetScrape) -> None:
        parts.metrics.scrape_seconds.observe(parts.clock.real_seconds(parts.clock.now() - scrape.taken_at))
        for pod in scrape.pods:
            result = "failed" if isinstance(pod.outcome, ScrapeFailure) else "read"
            parts.metrics.scrapes.labels(result=result).inc()
        for scaler in caches.scalers_of(key):
            parts.queue.add(scaler.metadata.key)

    sampler = Sampler(lambda: session, parts.clock, Limits(per_process=parts.settings.scrape_limit))
    return SampleStreams(sampler=sampler, clock=parts.clock, look_up=look_up, on_sample=on_sample)


def _sampling(parts: _Parts, streams: SampleStreams) -> Background:
    async def run() -> None:
        if parts.leadership.had_predecessor:
            streams.assume_sampled(parts.clock.now())
        await streams.run()

    return Background(name="sampling", run=run)


def _reconciler(
    parts: _Parts, streams: SampleStreams, tell: Callable[[World, Note], None], serves_workloads: Callable[[], bool]
) -> Reconciler:
    own_writes = OwnWrites(parts.caches)
    statuses = StatusWriter(
        client=parts.client,
        clock=parts.clock,
        resource=parts.versions.scalers,
        own_writes=own_writes,
        metrics=parts.metrics,
        deadline=parts.write_deadline,
    )
    targets = TargetWriter(
        client=parts.client,
        clock=parts.clock,
        scaler_resource=parts.versions.scalers,
        target_resource=parts.versions.targets,
        own_writes=own_writes,
        deadline=parts.write_deadline,
    )
    return Reconciler(
        observer=Observer(
            client=parts.client,
            clock=parts.clock,
            caches=parts.caches,
            own_writes=own_writes,
            scaler_resource=parts.versions.scalers,
            target_resource=parts.versions.targets,
            newest_scrape=streams.newest,
            serves_workloads=serves_workloads,
        ),
        executor=Executor(
            statuses=statuses,
            targets=targets,
            clock=parts.clock,
            metrics=parts.metrics,
            tell=tell,
            pause=_pause_at(parts.settings.pause_at),
        ),
        wishes=SamplingWishes(streams=streams),
        metrics=parts.metrics,
        clock_factor=parts.clock.factor,
    )


def _telling(versions: Versions, events: EventRecorder) -> Callable[[World, Note], None]:
    def tell(world: World, note: Note) -> None:
        meta = world.scaler.metadata
        regarding = Regarding(
            api_version=versions.scalers.api_version,
            kind=versions.scalers.kind,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
        )
        events.record(regarding, note)

    return tell


def _pause_at(place: str) -> Callable[[str], None]:
    """Stop this process where a crash test wants it; the test kills or continues it."""

    def pause(reached: str) -> None:
        if reached == place:
            os.kill(os.getpid(), signal.SIGSTOP)

    return pause
