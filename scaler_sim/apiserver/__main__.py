"""`python -m scaler_sim.apiserver`: an embedded cluster that serves until SIGTERM or SIGINT."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from scaler_sim.apiserver.cluster import ClusterSettings, EmbeddedCluster, neighbour_definitions, read_definitions


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scaler_sim.apiserver", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=int, default=0, help="port to listen on, 0 for a free one (default: %(default)s)"
    )
    parser.add_argument("--tls", action="store_true", help="serve HTTPS with a CA made at start")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="where to write the kubeconfig")
    parser.add_argument("--crd", type=Path, action="append", default=[], help="YAML file of definitions (repeatable)")
    return parser


async def _serve(settings: ClusterSettings, kubeconfig: Path) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with EmbeddedCluster(settings) as cluster:
        sys.stdout.write(f"{cluster.url} KUBECONFIG={cluster.kubeconfig(kubeconfig)}\n")
        sys.stdout.flush()
        await stopped.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve a cluster that knows the scaler's neighbours and the given definitions."""
    options = _parser().parse_args(arguments)
    definitions = (*neighbour_definitions(), *read_definitions(options.crd))
    settings = ClusterSettings(host=options.host, port=options.port, serves_tls=options.tls, definitions=definitions)
    asyncio.run(_serve(settings, options.kubeconfig))


if __name__ == "__main__":
    main()
