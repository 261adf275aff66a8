from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
V1, V2 = "2026-08-15", "2026-10-25"
