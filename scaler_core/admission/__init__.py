"""Rules of both webhooks."""
