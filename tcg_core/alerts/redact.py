"""Takes secrets out of a text before it is shown, stored or sent."""

import os
import re
from collections.abc import Mapping

#: Names of environment variables whose values are secrets.
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|WEBHOOK|CREDENTIAL|AUTH", re.IGNORECASE)
#: Shorter values would be found by chance in any text.
_SHORTEST = 6
HIDDEN = "[hidden]"
_PATTERNS = (
    re.compile(r"(?<=://)[^/\s@]+@"),
    re.compile(r"(?i)\b(?:bearer|basic|token)\s+[\w.~+/=-]{8,}"),
    re.compile(r"(?i)\b(?:api_?key|access_?token|token|secret|password|key)\s*[=:]\s*[\"']?[^\s\"'&,;]{6,}"),
)


def redact(text: str, environment: Mapping[str, str] | None = None) -> str:
    """``text`` without values of secret environment variables, credentials in addresses, and what is labelled a secret."""
    for value in secrets(os.environ if environment is None else environment):
        text = text.replace(value, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(HIDDEN, text)
    return text


def secrets(environment: Mapping[str, str]) -> list[str]:
    """Values that must not be shown, the longest first, so that one within another leaves nothing."""
    found = {value for name, value in environment.items() if _NAMES.search(name) and len(value) >= _SHORTEST}
    return sorted(found, key=len, reverse=True)
