"""The fence as a person with kubectl meets it on a real API server, word for word (golden/fence.txt)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import yaml

from e2e.fencing import GIT, LIVE, Fencing, fencing, manifest
from e2e.person import Step, allowed, perform, refused
from e2e.transcript import Transcript
from scaler_core.api.ownership import BINDING, DECISION

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """What a person does to one bound deployment."""

    title: str
    steps: tuple[Step, ...]
    start: Callable[[Fencing], Awaitable[None]] = Fencing.begin_bound


async def begin_released(world: Fencing) -> None:
    await world.begin_bound()
    await world.release()


FILES: Final = {
    "git.yaml": manifest(),
    "git-new-image.yaml": manifest(image="engine:2"),
    "live-new-image.yaml": manifest(LIVE, image="engine:2"),
    "no-counts.yaml": manifest(None),
    "no-counts-new-image.yaml": manifest(None, image="engine:2"),
}
BOTH: Final = f"{BINDING}- {DECISION}-"
CHAPTERS: Final = (
    Chapter(
        title="client-side apply of Git's counts, as they were before the scaler came",
        steps=(refused("apply -f git.yaml"), refused("apply -f git-new-image.yaml")),
    ),
    Chapter(
        title="client-side apply without counts",
        steps=(refused("apply -f no-counts.yaml"), refused("apply -f no-counts-new-image.yaml")),
    ),
    Chapter(
        title="client-side apply of the live counts with a new image",
        steps=(allowed("apply -f live-new-image.yaml"),),
    ),
    Chapter(
        title="server-side apply of Git's counts",
        steps=(
            refused("apply --server-side --field-manager=ci -f git.yaml"),
            refused("apply --server-side --field-manager=ci --force-conflicts -f git.yaml"),
        ),
    ),
    Chapter(
        title="server-side apply without counts",
        steps=(
            allowed("apply --server-side --field-manager=ci --force-conflicts -f no-counts-new-image.yaml"),
            allowed("apply --server-side --field-manager=ci -f no-counts.yaml"),
        ),
    ),
    Chapter(
        title="edit",
        steps=(
            refused("edit modeldeployment llm", editor="-e '/replicas: 5/s/5/3/'"),
            allowed("edit modeldeployment llm", editor="-e 's/engine:1/engine:2/'"),
            refused("edit modeldeployment llm", editor="-e '/scaler-binding:/d'"),
        ),
    ),
    Chapter(
        title="patch, of three kinds",
        steps=(
            refused("""patch md llm --type=json -p '[{"op":"replace","path":"/spec/roles/0/replicas","value":8}]'"""),
            refused("""patch md llm --type=json -p '[{"op":"remove","path":"/spec/roles/0/replicas"}]'"""),
            refused("patch md llm --type=merge --patch-file git.yaml"),
            refused("""patch md llm --type=merge -p '{"spec":{"roles":null}}'"""),
            refused("""patch md llm --type=strategic -p '{"spec":{"roles":[{"name":"decode","replicas":8}]}}'"""),
            allowed(
                """patch md llm --type=json -p '[{"op":"replace","path":"/spec/roles/0/image","value":"engine:2"}]'"""
            ),
        ),
    ),
    Chapter(
        title="the role set",
        steps=(
            refused("""patch md llm --type=json -p '[{"op":"remove","path":"/spec/roles/1"}]'"""),
            refused(
                """patch md llm --type=json -p '[{"op":"add","path":"/spec/roles/-","value":{"name":"encode","""
                """"kind":"Encode","instanceType":"gpu"}}]'"""
            ),
            allowed(
                """patch md llm --type=json -p '[{"op":"move","from":"/spec/roles/1","path":"/spec/roles/0"}]'""",
            ),
        ),
    ),
    Chapter(
        title="replace",
        steps=(refused("replace -f git.yaml"), refused("replace -f exported-with-git-counts.yaml")),
    ),
    Chapter(
        title="replace --force of an exported object",
        steps=(allowed("replace --force -f exported.yaml"),),
    ),
    Chapter(
        title="create from a backup",
        steps=(
            refused("create -f exported.yaml"),
            allowed("delete md llm", counts={}),
            allowed("create -f exported.yaml"),
        ),
    ),
    Chapter(
        title="annotate, the scaler's annotations",
        steps=(
            refused(f"annotate md llm {BINDING}-"),
            refused(f"annotate md llm {DECISION}-"),
            refused(f"annotate md llm {BOTH}"),
            refused(f"annotate md llm --overwrite {BINDING}=mine"),
            refused(f"annotate md llm --overwrite {DECISION}=mine"),
            refused(f"annotate --dry-run=server md llm {BOTH}"),
        ),
    ),
    Chapter(
        title="label, annotate and finalize otherwise",
        steps=(
            allowed("label md llm team=search"),
            allowed("annotate md llm example.org/note=seen"),
            allowed("""patch md llm --type=merge -p '{"metadata":{"finalizers":["example.org/keep"]}}'"""),
            allowed("""patch md llm --type=merge -p '{"metadata":{"finalizers":null}}'"""),
        ),
    ),
    Chapter(
        title="dry runs",
        steps=(
            allowed("apply --dry-run=server -f git.yaml"),
            allowed("apply --dry-run=client -f git.yaml"),
            allowed("apply --dry-run=server --server-side --field-manager=ci --force-conflicts -f git.yaml"),
            allowed("apply --dry-run=server --server-side --field-manager=ci -f no-counts.yaml"),
            refused("diff -f git-new-image.yaml"),
            refused("diff --server-side --field-manager=ci --force-conflicts -f git.yaml"),
            refused("""patch md llm --dry-run=server --type=json -p '[{"op":"remove","path":"/spec/roles/1"}]'"""),
        ),
    ),
    Chapter(
        title="kubectl scale, which has no way into a list",
        steps=(refused("scale modeldeployment llm --replicas=3"),),
    ),
    Chapter(
        title="the status, which is not fenced",
        steps=(allowed("""patch md llm --subresource=status --type=merge -p '{"status":{"phase":"Ready"}}'"""),),
    ),
    Chapter(
        title="deletion, which is not fenced",
        steps=(allowed("delete md llm", counts={}),),
    ),
    Chapter(
        title="after the release the counts are a person's again, and the annotations are not",
        start=begin_released,
        steps=(
            refused(f"annotate md llm --overwrite {BINDING}=mine"),
            refused(f"annotate md llm --overwrite {DECISION}=mine"),
            allowed("apply -f git.yaml", counts=GIT),
            allowed(f"annotate md llm {DECISION}-", counts=GIT),
            refused(f"annotate md llm {DECISION}=mine", counts=GIT),
        ),
    ),
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Fencing]:
    async with fencing(tmp_path) as running:
        yield running


async def test_the_fence_as_kubectl_shows_it(world: Fencing) -> None:
    for name, document in FILES.items():
        world.file(name, document)
    transcript = Transcript(name="fence", versions=await world.versions())
    for chapter in CHAPTERS:
        transcript.heading(chapter.title)
        await chapter.start(world)
        await export(world)
        for step in chapter.steps:
            transcript.say(*await perform(world, step))
    transcript.compare()


async def export(world: Fencing) -> None:
    """What `kubectl get -o yaml` gives, kept by a person; once as it is and once with Git's counts."""
    text = await world.kubectl("get", "md", "llm", "-o", "yaml")
    (world.folder / "exported.yaml").write_text(text)
    document = yaml.safe_load(text)
    for role in document["spec"]["roles"]:
        role["replicas"] = GIT[role["name"]]
    world.file("exported-with-git-counts.yaml", document)
