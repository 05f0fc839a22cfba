"""`python -m scaler_webhook`."""

import asyncio
import sys

from pydantic import ValidationError
from pydantic_settings import CliApp, SettingsError

from scaler_kube.errors import AccessError
from scaler_kube.logs import configure_logs
from scaler_webhook.main import until_signalled
from scaler_webhook.settings import Settings


def main() -> None:
    """Run the webhook; 2 for wrong settings."""
    try:
        settings = CliApp.run(Settings, cli_args=sys.argv[1:])
    except (ValidationError, SettingsError) as error:
        sys.exit(_explain(error))
    configure_logs(settings.log_level)
    try:
        asyncio.run(until_signalled(settings))
    except AccessError as error:
        sys.stderr.write(f"scaler-webhook: {error}\n")
        sys.exit(2)


def _explain(error: Exception) -> int:
    lines = [str(error)]
    if isinstance(error, ValidationError):
        lines = [f"{'.'.join(map(str, one['loc'])) or 'settings'}: {one['msg']}" for one in error.errors()]
    sys.stderr.writelines(f"scaler-webhook: {line}\n" for line in lines)
    return 2


if __name__ == "__main__":
    main()
