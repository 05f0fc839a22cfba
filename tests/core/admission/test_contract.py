"""What the contract asks of admission, statement by statement in our words, and the rules that keep it."""

from scaler_core.admission import registry
from scaler_core.admission.rules import Subject
from tests.shared_data import shared

STATEMENTS: list[tuple[str, str, tuple[str, ...]]] = [
    ("Resource", "a target is required and its name can name an object", ("required", "name", "type")),
    ("Resource", "a scaler keeps its target", ("target-fixed",)),
    (
        "Resource",
        "without a target the checks that need it are skipped; an unread one is no absent one",
        ("target-unread",),
    ),
    ("Resource", "mode is Shadow or Active, suspend is true or false", ("enum", "type")),
    ("Resource", "interval 5 to 300 s, pending timeout 60 to 1200 s", ("range",)),
    ("Resource", "one to ten roles, each role of the target once", ("length", "role-unique", "role-unknown")),
    ("Resource", "minReplicas and maxReplicas from 1 to 1024, the maximum required", ("range", "required")),
    ("Resource", "fields that the API does not have are refused", ("unknown-field",)),
    ("Algorithms", "one of three types with exactly its block, inferred from the block", ("algorithm-block", "enum")),
    ("Proportional", "a metric out of six is required", ("required", "enum")),
    ("Proportional", "a given tolerance is positive and at most 1", ("tolerance",)),
    (
        "Proportional",
        "targets are positive quantities of unique scaled roles",
        ("positive", "quantity", "role-target-names"),
    ),
    ("Proportional", "a role has a target or a direct ratio to a role with one", ("role-target-missing",)),
    ("Token throughput", "a positive capacity for every scaled kind but Encode", ("capacity-missing", "positive")),
    ("Token throughput", "an Encode role has a direct ratio to a Prefill or Decode role", ("encode-ratio",)),
    ("Token throughput", "stable window 30 to 600 s, panic window 10 to 300 s, in either order", ("range",)),
    ("Token throughput", "threshold and latency targets are positive", ("positive",)),
    ("Predictive", "fallback and forecast capacities are both required", ("capacity-missing",)),
    ("Predictive", "horizon 30 to 600 s, 1 to 64 points; noises may be nonpositive", ("range", "quantity")),
    ("Bounds and ratios", "the minimum is no greater than the maximum", ("bounds-order",)),
    ("Bounds and ratios", "a ratio names two distinct scaled roles", ("ratio-roles",)),
    ("Bounds and ratios", "each ordered pair once", ("ratio-unique",)),
    ("Bounds and ratios", "quantities of ratios are positive", ("positive",)),
    ("Bounds and ratios", "the preferred ratio lies within the band, the band is not inverted", ("ratio-order",)),
    ("Bounds and ratios", "a ratio that says nothing is refused", ("ratio-empty",)),
    ("Bounds and ratios", "bounds and bands leave some counts", ("ratio-infeasible",)),
    ("Pacing and guards", "windows, bounds and step policies stay within their ranges", ("range", "required", "enum")),
    ("Resource rebalancing", "policy out of three; priorities are unique scaled roles", ("enum", "priority-names")),
    ("Binding fence", "users move no bound count and change no role set", ("bound-counts", "bound-roles")),
    ("Binding fence", "users change neither annotation of a bound target", ("bound-annotation",)),
    (
        "Binding fence",
        "users install nothing on an unbound target or a new one",
        ("unbound-annotation", "create-annotated"),
    ),
    (
        "Binding fence",
        "a commit writes the vector and its decision together under the binding's term",
        ("commit-unbound", "commit-decision", "commit-unreadable", "commit-term", "commit-vector"),
    ),
    ("Binding fence", "an operator changes nothing else", ("operator-spec", "binding-alone")),
    ("Binding fence", "terms start at one and never go back", ("bind-term", "bind-unreadable", "commit-term")),
    (
        "Binding fence",
        "nobody takes over a binding",
        ("binding-rewritten", "bind-scaler", "bind-target", "bind-unread"),
    ),
    ("Binding fence", "a binding that nobody can read is removed, not repaired", ("unreadable-binding",)),
    (
        "Binding fence",
        "an orphan's binding may be removed once its scaler is gone, counts unchanged",
        ("unbind-live", "unbind-deleting", "unbind-unread", "bound-counts"),
    ),
    ("Limitations", "roles with a command or elasticEp are refused", ("command", "elastic-ep")),
    ("Limitations", "generated names fit 63 characters at maxReplicas", ("name-length",)),
    ("Limitations", "an outage admits nothing unjudged", ("deadline", "internal", "review")),
]


def test_every_statement_names_rules_that_exist() -> None:
    for _, statement, rules in STATEMENTS:
        assert set(rules) <= set(registry.BY_ID), statement


def test_every_rule_comes_from_a_statement() -> None:
    assert {rule for _, _, rules in STATEMENTS for rule in rules} == set(registry.BY_ID)


def test_every_section_of_a_rule_is_a_section_of_the_contract() -> None:
    sections = {section for section, _, _ in STATEMENTS}
    assert {rule.section for rule in registry.RULES} <= sections
    assert {rule.subject for rule in registry.RULES} == set(Subject)


def test_sections_are_headings_of_the_contract() -> None:
    text = shared("spec", "scaling.md").read_text("utf-8")
    headings = {line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("##")}
    assert {section for section, _, _ in STATEMENTS} <= headings
