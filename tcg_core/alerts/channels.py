"""Where alerts go: always to the log, and to a webhook if ``TCG_WEBHOOK`` names one. Another channel is another class."""

import logging
import os
from typing import Protocol

from tcg_core.base.home import Home

WEBHOOK = "TCG_WEBHOOK"
LOG = logging.getLogger("tcg.alert")


class Channel(Protocol):
    """Something that can be told."""

    @property
    def name(self) -> str:
        """Under which the state remembers that it was told."""

    def send(self, title: str, text: str) -> str:
        """Delivers; returns "" or why it could not, never raises for that, never shows a secret."""


class LogChannel:
    """The log of the process that noticed: the run's service, as the journal keeps it."""

    name = "log"

    def send(self, title: str, text: str) -> str:
        """One record of level ERROR."""
        LOG.error("%s", text)
        return ""


def channels(home: Home) -> tuple[Channel, ...]:
    """The configured channels of a home."""
    url = os.environ.get(WEBHOOK, "")
    if not url:
        return (LogChannel(),)
    from tcg_core.alerts.webhook import Webhook

    return (LogChannel(), Webhook(url))
