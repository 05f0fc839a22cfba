"""The pages of conditions and of events."""

from scaler_cli.reference.markdown import cell, code, note, page, table
from scaler_cli.reference.meanings import CONDITIONS, EVENTS, REASONS, REBALANCE_REASONS, ROLE_REASONS
from scaler_core.api.reasons import ConditionType, EventReason, Reason, RebalanceReason, RoleReason

_SOURCE = "scaler_core/api/reasons.py"


def conditions_page() -> str:
    """Conditions, their reasons, and the reasons of roles and of rebalances."""
    return page(
        note(_SOURCE),
        "# Conditions and reasons",
        "A scaler has four conditions. Their reasons are single words that programs may match on; their messages have "
        "the numbers and change with them. A message alone never causes a write of the status.",
        table(("Condition", "Meaning"), ((code(type_), cell(CONDITIONS[type_])) for type_ in ConditionType)),
        "## Reasons of conditions",
        table(
            ("Reason", "Meaning", "What to do"),
            ((code(it), cell(REASONS[it].says), cell(REASONS[it].remedy)) for it in Reason),
        ),
        "## Reasons of roles",
        "`status.roles[].reason` is the last stage of the plan that changed the request, or else the algorithm's word. "
        "`mds explain` shows every stage.",
        table(("Reason", "Meaning"), ((code(it), cell(ROLE_REASONS[it])) for it in RoleReason)),
        "## Reasons of a rebalance",
        "`status.rebalance.reason`:",
        table(("Reason", "Meaning"), ((code(it), cell(REBALANCE_REASONS[it])) for it in RebalanceReason)),
    )


def events_page() -> str:
    """Every event."""
    return page(
        note(_SOURCE),
        "# Events",
        "Written as `events.k8s.io/v1` beside the scaler, so `kubectl describe mds NAME` and `kubectl get events` show "
        "them. A steady scaler writes none; repeats extend a series.",
        table(
            ("Reason", "Meaning", "What to do"),
            ((code(it), cell(EVENTS[it].says), cell(EVENTS[it].remedy)) for it in EventReason),
        ),
    )
