"""The pages of flags and of the `mds` command, from the definitions that parse them."""

import typing
from collections.abc import Iterator
from enum import Enum
from types import UnionType
from typing import Any

from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from scaler_cli.reference.markdown import cell, code, note, page, table
from scaler_controller.settings import Settings as ControllerSettings
from scaler_webhook.settings import Settings as WebhookSettings


def flags_page() -> str:
    """Flags of both processes."""
    return page(
        note("the settings models of both processes"),
        "# Flags of the processes",
        "A flag wins over its environment variable. Times are in real seconds unless a sentence says otherwise.",
        "## scaler-controller",
        _flags(ControllerSettings),
        "## scaler-webhook",
        _flags(WebhookSettings),
    )


def _flags(settings: type[BaseSettings]) -> Iterator[str]:
    prefix = settings.model_config.get("env_prefix", "")
    yield from table(("Flag", "Environment", "Type", "Default", "Meaning"), _flag_rows(settings, prefix))


def _flag_rows(settings: type[BaseSettings], prefix: str) -> Iterator[tuple[str, ...]]:
    for name, field in settings.model_fields.items():
        default = "" if field.default in (PydanticUndefined, None, "", ()) else _shown(field.default)
        yield (
            code(f"--{name.replace('_', '-')}"),
            code(f"{prefix}{name}".upper()),
            _kind(field.annotation),
            code(default),
            cell(field.description or ""),
        )


def _shown(value: Any) -> str:
    secret = getattr(value, "get_secret_value", None)
    return str(secret() if secret is not None else value)


def _kind(annotation: Any) -> str:
    if isinstance(annotation, UnionType):
        return _kind(next(part for part in typing.get_args(annotation) if part is not type(None)))
    if typing.get_origin(annotation) is tuple:
        return f"{_kind(typing.get_args(annotation)[0])}, repeatable"
    words = {"str": "text", "SecretStr": "secret", "int": "integer", "float": "number", "bool": "flag", "Path": "file"}
    return words.get(getattr(annotation, "__name__", ""), "text")


def commands_page(command: TyperGroup) -> str:
    """Every command of `mds` that is not hidden."""
    commands = {
        name: found
        for name, found in sorted(command.commands.items())
        if isinstance(found, TyperCommand) and not found.hidden
    }
    return page(
        note("scaler_cli"),
        "# The mds command",
        "Also `kubectl mds`, once `kubectl-mds` is on the PATH. Text for people, `-o json` for programs; exit status 0 "
        "is fine, 1 found a problem, 2 is wrong use. `mds --install-completion` teaches the shell.",
        *(part for name, found in commands.items() for part in _command(name, found)),
    )


def _command(name: str, command: TyperCommand) -> Iterator[str | Iterator[str]]:
    yield f"## mds {name}"
    yield "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    rows = [row for parameter in command.params if (row := _parameter(parameter)) is not None]
    if rows:
        yield table(("Argument", "Default", "Meaning"), rows)


def _parameter(parameter: object) -> tuple[str, str, str] | None:
    if not isinstance(parameter, TyperOption | TyperArgument) or parameter.hidden or parameter.name == "help":
        return None
    if isinstance(parameter, TyperOption):
        names = ", ".join(code(name) for name in parameter.opts)
    else:
        names = code(parameter.metavar or (parameter.name or "").upper())
    default = parameter.default
    shown = [] if default in (None, False, ()) or callable(default) else [code(_text(default))]
    required = ["required"] if parameter.required else []
    return names, ", ".join([*shown, *required]), cell(parameter.help or "")


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)
