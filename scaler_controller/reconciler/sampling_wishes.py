"""Which targets are to be sampled: those that a pass observes."""

from dataclasses import dataclass

from scaler_controller.reconciler.caches import target_key
from scaler_controller.sampling.schedule import Subscription
from scaler_controller.sampling.streams import SampleStreams
from scaler_core.api.meta import ObjectKey
from scaler_core.decision import Decision
from scaler_core.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingWishes:
    """Subscribes scalers that plan, and unsubscribes those that do not."""

    streams: SampleStreams

    def follow(self, world: World, decision: Decision) -> None:
        """Bring the subscription of this scaler in line with what its pass did."""
        if decision.observation is None or world.target is None:
            self.streams.unsubscribe(world.key)
            return
        spec = world.scaler.spec
        subscription = Subscription(
            target=target_key(world.scaler),
            target_uid=world.target.metadata.uid,
            interval_seconds=float(spec.sampling.interval_seconds),
            roles=frozenset(role.name for role in spec.roles),
        )
        self.streams.subscribe(world.key, subscription)

    def forget(self, key: ObjectKey) -> None:
        """The scaler is gone."""
        self.streams.unsubscribe(key)
