"""How commands answer: text for people, JSON for programs."""

from enum import StrEnum


class Output(StrEnum):
    """The value of `-o`."""

    TEXT = "text"
    JSON = "json"
