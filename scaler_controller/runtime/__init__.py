"""Machinery that knows no scaling: pure state machines, and the thin asyncio shells around two of them."""
