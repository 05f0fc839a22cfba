"""`python -m scaler_webhook`."""

import asyncio
import sys

from scaler_kube.errors import AccessError
from scaler_kube.logs import configure_logs
from scaler_kube.settings import read_settings
from scaler_webhook.main import until_signalled
from scaler_webhook.settings import Settings

EXIT_USAGE = 2


def main() -> None:
    """Run the webhook; exit status 2 for wrong settings or no way to the cluster."""
    settings = read_settings(Settings)
    if settings is None:
        sys.exit(EXIT_USAGE)
    configure_logs(settings.log_level)
    try:
        asyncio.run(until_signalled(settings))
    except AccessError as error:
        sys.stderr.write(f"scaler-webhook: {error}\n")
        sys.exit(EXIT_USAGE)


if __name__ == "__main__":
    main()
