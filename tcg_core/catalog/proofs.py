"""Which builds of days were proven equal under code that did not build them. The table is append-only; evidence lies on disk."""

import sqlite3
from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class ProofRow:
    """A dataset whose rows are what ``code`` would build, as a sample of ``episodes`` of ``of_episodes`` showed.

    built_by: the code that built it; sha256: of the file of rows that was compared; evidence: the file that says so, below the
    home.
    """

    day: str
    dataset_id: str
    code: str
    built_by: str
    sha256: str
    rows_digest: str
    episodes: int
    of_episodes: int
    evidence: str
    evidence_sha256: str
    proven_at: str

    def __str__(self) -> str:
        return f"proven equal under code {self.code} by {self.episodes} of {self.of_episodes} episodes ({self.evidence})"


def record_proof(connection: sqlite3.Connection, proof: ProofRow) -> bool:
    """Appends a proof; false if that dataset was proven under that code before."""
    query = f"INSERT OR IGNORE INTO day_proofs VALUES ({', '.join('?' * len(astuple(proof)))})"
    return connection.execute(query, astuple(proof)).rowcount > 0


def proofs_of(connection: sqlite3.Connection, day: str | None = None) -> list[ProofRow]:
    """Proofs of a day (or of all), the oldest first."""
    rows = connection.execute("SELECT * FROM day_proofs WHERE ?1 IS NULL OR day = ?1 ORDER BY proven_at, day, dataset_id", (day,))
    return [ProofRow(*row) for row in rows]


def proofs_by_dataset(connection: sqlite3.Connection, day: str | None = None) -> dict[str, tuple[ProofRow, ...]]:
    """:func:`proofs_of` by dataset id."""
    found: dict[str, tuple[ProofRow, ...]] = {}
    for proof in proofs_of(connection, day):
        found[proof.dataset_id] = (*found.get(proof.dataset_id, ()), proof)
    return found


def of_other_code(connection: sqlite3.Connection, code: str) -> dict[tuple[str, str], str]:
    """Of all datasets that ``code`` neither built nor is proven to build equally: by day and dataset id the code that did."""
    query = (
        "SELECT day, dataset_id, code FROM datasets d WHERE code <> ?1 AND NOT EXISTS (SELECT 1 FROM day_proofs p"
        " WHERE p.day = d.day AND p.dataset_id = d.dataset_id AND p.sha256 = d.sha256 AND p.code = ?1)"
    )
    return {(row["day"], row["dataset_id"]): row["code"] for row in connection.execute(query, (code,))}
