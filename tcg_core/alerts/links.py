"""Where the UI is reached, for the links of alerts."""

import os

#: Set it where a proxy gives the UI another name.
UI_VARIABLE, UI = "TCG_UI_URL", "http://127.0.0.1:3000"


def ui_link(page: str) -> str:
    """Address of a page of the UI."""
    return f"{os.environ.get(UI_VARIABLE, UI).rstrip('/')}/{page}"
