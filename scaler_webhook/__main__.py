"""`python -m scaler_webhook`."""

import asyncio
import gc
import sys
from typing import Final

from scaler_kube.errors import AccessError
from scaler_kube.logs import configure_logs
from scaler_kube.settings import SettingError, read_settings
from scaler_webhook.main import until_signalled
from scaler_webhook.settings import Settings

EXIT_USAGE = 2
YOUNG_OBJECTS: Final = 100_000
"""So many containers may be born before the collector looks at them: some thirty reviews of ordinary size at once."""


def main() -> None:
    """Run the webhook; exit status 2 for wrong settings or no way to the cluster."""
    settings = read_settings(Settings)
    if settings is None:
        sys.exit(EXIT_USAGE)
    configure_logs(settings.log_level)
    spare_the_collector()
    try:
        asyncio.run(until_signalled(settings))
    except (AccessError, SettingError) as error:
        sys.stderr.write(f"scaler-webhook: {error}\n")
        sys.exit(EXIT_USAGE)


def spare_the_collector() -> None:
    """Keep the cycle collector off modules and off reviews, which have no cycles and die by their reference counts.

    By default it runs several times within each review: parsing then takes three times as long.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


if __name__ == "__main__":
    main()
