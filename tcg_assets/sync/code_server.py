"""The process in which Dagster keeps the code location: it says which code it serves, and hands that to the runs it starts."""

import sys

from tcg_core.base.home import Home
from tcg_core.base.same_code import hand_over, is_child
from tcg_core.ops.code_servers import announce

#: First arguments of the commands by which Dagster starts such a process.
_COMMANDS = ("api", "code-server")


def serve_code() -> None:
    """Notes the code of this process if it is a code server. A run that it starts has the same arguments; it is a child, and
    compares instead."""
    if sys.argv[1:2] and sys.argv[1] in _COMMANDS and not is_child():
        announce(Home.resolve().prepare())
        hand_over()
