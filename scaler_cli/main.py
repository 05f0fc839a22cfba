"""`mds`: one command a module; also usable as `kubectl mds`."""

import typer

from scaler_cli import demo, doctor, explain, generate, plan, probe, release, top, validate

app = typer.Typer(
    name="mds",
    help="Autoscaler for the roles of LLM serving deployments on Kubernetes.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.command("explain")(explain.explain)
app.command("plan")(plan.plan)
app.command("probe")(probe.probe)
app.command("release")(release.release)
app.command("top")(top.top)
app.command("validate")(validate.validate)
app.command("generate", hidden=True)(generate.generate)


@app.callback()
def root() -> None:
    """Keep subcommands named even while there is only one."""


if __name__ == "__main__":  # who starts this module means the command
    app(prog_name="mds")
