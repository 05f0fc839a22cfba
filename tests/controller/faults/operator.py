"""The target's operator as the facts have it: Pods, Workloads with quota, one retirement at a time, aborts."""

import copy
import itertools
from collections import defaultdict
from typing import Any

from scaler_core.api.base import format_time
from scaler_core.api.pod import COMPONENT_LABEL, INSTANCE_LABEL, MEMBER_LABEL, NAME_LABEL, NAME_VALUE, ORDINAL_LABEL
from scaler_core.api.workload import workload_name
from tests.controller.faults.server import KEY, PODS, TARGETS, WORKLOADS, Server

Replica = tuple[str, int]
RECORD_STATES = ("Admitted", "Draining", "Deleting")


class Operator:
    """Works in rounds; knows the truth about every replica that ever was."""

    def __init__(self, server: Server, quota: int) -> None:
        self.server = server
        self.quota = quota
        self.serial = itertools.count(server.version)
        self.created: dict[Replica, list[tuple[str, int]]] = defaultdict(list)
        """UIDs of Workloads of a replica, each with the server's version at its creation."""
        self.admitted: set[str] = set()
        """UIDs of Workloads that were ever admitted."""
        self.remember()

    def remember(self) -> None:
        """Take what is there as what was there before."""
        for pod in self.server.all(PODS):
            replica = (pod["metadata"]["labels"][COMPONENT_LABEL], int(pod["metadata"]["labels"][ORDINAL_LABEL]))
            workload = self.workload(replica)
            if workload is not None:
                self.created[replica].append((workload["metadata"]["uid"], self.server.version))
                self.admitted.add(workload["metadata"]["uid"])

    # -- one round ----------------------------------------------------------------------------------------------------

    def round(self) -> None:
        target = self.server.get(TARGETS)
        if target is None or "deletionTimestamp" in target["metadata"]:
            for replica in self.replicas():
                self.remove_pod(replica)
                self.remove_workload(replica)
            return
        self.collect(target)
        self.retire()
        self.create()
        self.admit()
        self.make_ready()
        self.echo()

    def collect(self, target: dict[str, Any]) -> None:
        """What belongs to a target that is gone goes."""
        for pod in self.server.all(PODS):
            if pod["metadata"]["ownerReferences"][0]["uid"] != target["metadata"]["uid"]:
                replica = (pod["metadata"]["labels"][COMPONENT_LABEL], int(pod["metadata"]["labels"][ORDINAL_LABEL]))
                self.remove_pod(replica)
                self.remove_workload(replica)

    def create(self) -> None:
        target, record = self.server.get(TARGETS), self.record()
        assert target is not None
        for role, count in self.server.counts().items():
            for ordinal in range(count):
                if record is not None and (record["roleName"], record["replicaOrdinal"]) == (role, ordinal):
                    continue  # an earlier replica of this ordinal still leaves
                if self.pod((role, ordinal)) is None:
                    self.server.put(PODS, self.pod_document(target, (role, ordinal)))
                if self.workload((role, ordinal)) is None:
                    self.server.put(WORKLOADS, self.workload_document((role, ordinal)))

    def admit(self) -> None:
        counts = self.server.counts()
        used = sum(self.is_admitted(replica) for replica in self.replicas())
        for role, ordinal in self.replicas():
            if self.is_admitted((role, ordinal)) or ordinal >= counts.get(role, 0) or used >= self.quota:
                continue
            used += 1
            self.judge((role, ordinal), "True")
            workload = self.workload((role, ordinal))
            if workload is not None:
                self.admitted.add(workload["metadata"]["uid"])

    def make_ready(self) -> None:
        for replica in self.replicas():
            pod = self.pod(replica)
            if pod is None:
                continue
            is_ready = pod["status"]["conditions"][0]["status"] == "True"
            if self.is_admitted(replica) != is_ready:
                changed = copy.deepcopy(pod)
                changed["status"]["conditions"][0]["status"] = "True" if self.is_admitted(replica) else "False"
                self.server.put(PODS, changed)

    def echo(self) -> None:
        counts = self.server.counts()
        roles = [{"name": role, "desired": count, "ready": 0} for role, count in counts.items()]
        self.set_status(roles=roles)

    # -- retirement ---------------------------------------------------------------------------------------------------

    def retire(self) -> None:
        """One step of the one retirement."""
        record, surplus = self.record(), self.surplus()
        if record is None:
            if surplus:
                self.begin_retirement(surplus[0])
            return
        replica = (record["roleName"], record["replicaOrdinal"])
        if replica not in surplus and record["state"] != "Deleting":
            self.set_status(retirement=None)  # the ordinal is wanted again: its replica stays
        elif record["state"] == "Deleting":
            self.finish(replica)
        elif record["state"] in RECORD_STATES:
            following = RECORD_STATES[RECORD_STATES.index(record["state"]) + 1]
            self.set_status(retirement={**record, "state": following})

    def begin_retirement(self, replica: Replica) -> None:
        target = self.server.get(TARGETS)
        assert target is not None
        self.set_status(
            retirement={
                "roleName": replica[0],
                "replicaOrdinal": replica[1],
                "observedGeneration": target["metadata"]["generation"],
                "state": "Admitted" if self.is_ready(replica) else "Deleting",
                "startedAt": format_time(self.server.clock.now()),
            }
        )

    def finish(self, replica: Replica) -> None:
        """Pods, then the Workload, then the record."""
        if self.pod(replica) is not None:
            self.remove_pod(replica)
        elif self.workload(replica) is not None:
            self.remove_workload(replica)
        else:
            self.set_status(retirement=None)

    def abort(self) -> None:
        record = self.record()
        if record is None and self.surplus():
            self.begin_retirement(self.surplus()[0])
            record = self.record()
        if record is not None and record["state"] in ("Admitted", "Draining"):
            self.set_status(retirement={**record, "state": "Aborted", "reason": "drain evidence was not conclusive"})

    def give_up_aborted(self) -> None:
        """A person resolves what was aborted: the retirement begins anew."""
        record = self.record()
        if record is not None and record["state"] == "Aborted":
            self.set_status(retirement=None)

    def evict(self, index: int) -> None:
        admitted = [replica for replica in self.replicas() if self.is_admitted(replica)]
        if admitted:
            self.judge(admitted[index % len(admitted)], "False")

    # -- what is there ------------------------------------------------------------------------------------------------

    def replicas(self) -> list[Replica]:
        pods = {
            (pod["metadata"]["labels"][COMPONENT_LABEL], int(pod["metadata"]["labels"][ORDINAL_LABEL]))
            for pod in self.server.all(PODS)
        }
        named = {replica: self.workload(replica) for replica in self.created}
        return sorted(pods | {replica for replica, workload in named.items() if workload is not None})

    def surplus(self) -> list[Replica]:
        counts = self.server.counts()
        return sorted((r for r in self.replicas() if r[1] >= counts.get(r[0], 0)), key=lambda r: (r[0], -r[1]))

    def record(self) -> dict[str, Any] | None:
        target = self.server.get(TARGETS)
        return None if target is None else (target.get("status") or {}).get("retirement")

    def pod(self, replica: Replica) -> dict[str, Any] | None:
        return self.server.get(PODS, pod_name(replica))

    def workload(self, replica: Replica) -> dict[str, Any] | None:
        return self.server.get(WORKLOADS, workload_name(*KEY, *replica))

    def uids(self, replica: Replica) -> set[str]:
        """UIDs of what exists of a replica now."""
        return {d["metadata"]["uid"] for d in (self.pod(replica), self.workload(replica)) if d is not None}

    def is_admitted(self, replica: Replica) -> bool:
        workload = self.workload(replica)
        return workload is not None and workload["status"]["conditions"][0]["status"] == "True"

    def is_ready(self, replica: Replica) -> bool:
        pod = self.pod(replica)
        return pod is not None and pod["status"]["conditions"][0]["status"] == "True"

    # -- documents ----------------------------------------------------------------------------------------------------

    def set_status(self, **members: Any) -> None:
        target = self.server.get(TARGETS)
        assert target is not None
        before = target.get("status") or {}
        status = {name: value for name, value in {**before, **members}.items() if value is not None}
        if status != before:
            self.server.put(TARGETS, {**target, "status": status})

    def remove_pod(self, replica: Replica) -> None:
        self.server.remove(PODS, pod_name(replica))

    def remove_workload(self, replica: Replica) -> None:
        self.server.remove(WORKLOADS, workload_name(*KEY, *replica))

    def judge(self, replica: Replica, status: str) -> None:
        workload = copy.deepcopy(self.workload(replica))
        if workload is not None:
            workload["status"]["conditions"] = [admitted(status, self.server.clock.now())]
            self.server.put(WORKLOADS, workload)

    def pod_document(self, target: dict[str, Any], replica: Replica) -> dict[str, Any]:
        serial = next(self.serial)
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": pod_name(replica),
                "namespace": KEY.namespace,
                "uid": f"pod-{serial}",
                "labels": {
                    NAME_LABEL: NAME_VALUE,
                    INSTANCE_LABEL: KEY.name,
                    COMPONENT_LABEL: replica[0],
                    ORDINAL_LABEL: str(replica[1]),
                    MEMBER_LABEL: "0",
                },
                "ownerReferences": [
                    {
                        "apiVersion": target["apiVersion"],
                        "kind": "ModelDeployment",
                        "name": KEY.name,
                        "uid": target["metadata"]["uid"],
                        "controller": True,
                    }
                ],
            },
            "spec": {},
            "status": {
                "conditions": [{"type": "Ready", "status": "False"}],
                "containerStatuses": [{"name": "main", "containerID": f"containerd://{serial}", "restartCount": 0}],
            },
        }

    def workload_document(self, replica: Replica) -> dict[str, Any]:
        uid = f"workload-{next(self.serial)}"
        self.created[replica].append((uid, self.server.version + 1))
        return {
            "apiVersion": WORKLOADS.api_version,
            "kind": "Workload",
            "metadata": {"name": workload_name(*KEY, *replica), "namespace": KEY.namespace, "uid": uid},
            "spec": {},
            "status": {"conditions": [admitted("False", self.server.clock.now())]},
        }


def admitted(status: str, now: float) -> dict[str, Any]:
    return {
        "type": "Admitted",
        "status": status,
        "reason": "Test",
        "message": "",
        "lastTransitionTime": format_time(now),
    }


def pod_name(replica: Replica) -> str:
    return f"{KEY.name}-{replica[0]}-{replica[1]}"
