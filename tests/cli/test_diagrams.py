"""The page of state machines shows every machine, whole."""

from scaler_cli import diagrams


def test_every_transition_of_every_machine_is_on_the_page() -> None:
    page = diagrams.page()
    for machine in diagrams.PAGE:
        section = page.partition(f"## {machine.name.capitalize()}\n")[2].partition("\n## ")[0]
        arrows = {line.strip() for line in section.splitlines() if "-->" in line}
        expected = {f"{state} --> {after}: {event}" for (state, event), after in machine.table.items()}
        assert arrows == {f"[*] --> {machine.start}", *expected}


def test_the_machines_are_told_apart_by_their_names() -> None:
    names = [machine.name for machine in diagrams.PAGE]
    assert len(set(names)) == len(names)
    assert diagrams.page().count("```mermaid") == len(names)
