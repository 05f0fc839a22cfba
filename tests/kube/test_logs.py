import json
import logging

from scaler_kube.logs import JsonFormatter, pass_context


def line(message: str, **extra: object) -> dict[str, object]:
    record = logging.LogRecord("scaler", logging.INFO, __file__, 1, message, None, None)
    record.__dict__.update(extra)
    return json.loads(JsonFormatter().format(record))  # type: ignore[no-any-return]


def test_identifiers_of_the_pass_follow_every_line_and_end_with_it() -> None:
    with pass_context(scaler="ns/a"), pass_context(pass_id="7"):
        inside = line("Committed", vector={"server": 3})
    assert (inside["scaler"], inside["pass_id"], inside["vector"]) == ("ns/a", "7", {"server": 3})
    assert "scaler" not in line("Later")


def test_a_line_is_one_json_object_with_time_and_level() -> None:
    text = line("Two\nlines")
    assert text["message"] == "Two\nlines"
    assert {"time", "level", "logger"} <= text.keys()
