"""Generates ``tcg_core/replay/structs.py`` from the field table of ``tcg_core.encode.observation``.

Run ``python -m tests.replay.structs_source`` after a change of the table; a test compares file and table.
"""

import dataclasses
import inspect
from pathlib import Path

from tcg_core.encode import observation

TARGET = Path(__file__).resolve().parents[2] / "tcg_core/replay/structs.py"
_HEAD = '''"""Typed structs that decode an observation out of a replay. Generated: do not edit.

Source: the field table of ``encode/observation.py``, through ``tests/replay/structs_source.py``. The attributes are the
same, so the encoder reads either kind; keys that are not listed (``search_begin_input``, clocks) are skipped undecoded.
"""

import msgspec
'''


def source() -> str:
    """The text of ``replay/structs.py``."""
    parts = [_HEAD]
    for kind in observation.TABLE:
        lines = [f'class {kind.__name__}(msgspec.Struct, rename="camel", gc=False):', f'    """{inspect.getdoc(kind)}"""', ""]
        for field in dataclasses.fields(kind):
            text = inspect.get_annotations(kind)[field.name]
            name = text.__name__ if isinstance(text, type) and not hasattr(text, "__args__") else str(text)
            name = name.replace(f"{observation.__name__}.", "")
            lines.append(f"    {field.name}: {name}" + ("" if field.default is dataclasses.MISSING else " = None"))
        parts.append("\n".join(lines) + "\n")
    return "\n\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(source())
