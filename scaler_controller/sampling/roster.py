"""Who is asked in a sampling pass. Pods hardly ever change between two passes, so the answer is remembered."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from yarl import URL

from scaler_controller.sampling.endpoints import metrics_url
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.pod import Pod
from scaler_core.model.scrape import EngineCounters, PodScrape, ScrapeFailure
from scaler_core.signals.replicas import MAX_PODS, answering_pods, by_role, replicas_of, target_pods

logger = logging.getLogger(__name__)

INTERNAL_ERROR: Final = "it could not be read because of an internal error; see the controller's log"
_REMEMBERED: Final = 256  # targets; one has some tens of KiB


class Question(NamedTuple):
    """A Pod to be read, and what its answer will be filed under."""

    url: URL | ScrapeFailure
    pod_uid: str
    pod_name: str
    role: str
    ordinal: int
    member: int
    container: str

    @classmethod
    def to(cls, role: str, pod: Pod) -> Self:
        """The question to one Pod of a role."""
        return cls(
            url=_address(pod),
            pod_uid=pod.metadata.uid,
            pod_name=pod.metadata.name,
            role=role,
            ordinal=pod.ordinal or 0,
            member=pod.member,
            container=pod.engine_id,
        )

    def answered(self, outcome: EngineCounters | ScrapeFailure, at: float) -> PodScrape:
        """What the Pod said, and when."""
        return PodScrape(
            pod_uid=self.pod_uid,
            pod_name=self.pod_name,
            role=self.role,
            ordinal=self.ordinal,
            member=self.member,
            container=self.container,
            outcome=outcome,
            read_at=at,
        )


def _address(pod: Pod) -> URL | ScrapeFailure:
    try:
        return metrics_url(pod)
    except Exception:  # one Pod's annotations must not end the reading of all others
        logger.exception("The address of an engine cannot be made", extra={"pod": pod.metadata.name})
        return ScrapeFailure(why=INTERNAL_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The Pods of a target that are asked: the ready answering ones of these roles, at most 64 of each."""

    target: ModelDeployment
    roles: frozenset[str]
    pods: tuple[Pod, ...]
    """Pods around the target."""
    questions: tuple[Question, ...]
    answering: Mapping[str, int]
    """Ready answering Pods by role, before the cap."""

    @classmethod
    def of(cls, target: ModelDeployment, roles: frozenset[str], pods: tuple[Pod, ...]) -> Self:
        """The roster of these Pods."""
        own = by_role(target_pods(target, pods))
        answering = {
            role.name: answering_pods(replicas_of(target, role, own.get(role.name, ())))
            for role in target.spec.roles
            if role.name in roles
        }
        return cls(
            target=target,
            roles=roles,
            pods=pods,
            questions=tuple(Question.to(role, pod) for role, found in answering.items() for pod in found[:MAX_PODS]),
            answering={role: len(found) for role, found in answering.items()},
        )

    def is_of(self, target: ModelDeployment, roles: frozenset[str], pods: tuple[Pod, ...]) -> bool:
        """Whether it was made of the same; an unchanged object of the caches is the same object."""
        return self.target is target and self.roles == roles and self.pods == pods


class Rosters:
    """The last roster of each target."""

    def __init__(self) -> None:
        self._by_target: dict[str, Roster] = {}

    def roster(self, target: ModelDeployment, roles: Collection[str], pods: Collection[Pod]) -> Roster:
        """The target's roster of these Pods."""
        names, around = frozenset(roles), tuple(pods)
        known = self._by_target.pop(target.metadata.uid, None)
        roster = known if known is not None and known.is_of(target, names, around) else Roster.of(target, names, around)
        self._by_target[target.metadata.uid] = roster
        if len(self._by_target) > _REMEMBERED:
            del self._by_target[next(iter(self._by_target))]
        return roster
