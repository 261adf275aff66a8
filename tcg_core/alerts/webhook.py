"""Posts an alert as JSON to a webhook. With the fetch, the only part that speaks to a network, and only if it is told to."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import IO

from tcg_core.base.errors import ConfigError

_SECONDS = 10.0
#: What the strictest of the common chat services accepts.
_LONGEST = 1900


class _Stay(urllib.request.HTTPRedirectHandler):
    """A redirect is a failure: the text is meant for the address that was configured."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> None:
        return None


class Webhook:
    """``text`` (Slack, Mattermost, Teams) and ``content`` (Discord) both hold the message. The address is a secret."""

    name = "webhook"

    def __init__(self, url: str) -> None:
        """Raises :class:`ConfigError`, without showing it, for an address that is not http or https."""
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise ConfigError("TCG_WEBHOOK is not an http or https address")
        self._url = url

    def __repr__(self) -> str:
        return "Webhook([hidden])"

    def send(self, title: str, text: str) -> str:
        """Delivers within ten seconds; returns "" or why not."""
        message = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        data = json.dumps({"text": message, "content": message, "title": title}).encode()
        try:
            request = urllib.request.Request(self._url, data, {"Content-Type": "application/json"}, method="POST")
            with urllib.request.build_opener(_Stay).open(request, timeout=_SECONDS):
                return ""
        except urllib.error.HTTPError as error:
            error.close()
            return f"the webhook answered {error.code}"
        except (OSError, ValueError, http.client.HTTPException) as error:
            # Messages of these may repeat the address.
            return f"the webhook was not reached ({type(error).__name__})"
