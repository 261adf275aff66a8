"""Builds one day of a home, in a process of its own: ``build_child.py HOME DAY WORKERS``; prints its peak memory."""

import resource
import sys
from pathlib import Path

from tcg_core.base.home import Home
from tcg_core.days.build import build_day

if __name__ == "__main__":
    built = build_day(Home(Path(sys.argv[1])), sys.argv[2], workers=int(sys.argv[3]))
    # ru_maxrss begins with the parent's size on Linux; VmHWM is this program's own.
    status = Path("/proc/self/status")
    lines = [line.split() for line in status.read_text().splitlines()] if status.is_file() else []
    own = [int(line[1]) * 1024 for line in lines if line[0] == "VmHWM:"]
    print(built.facts["rows"], *(own or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
