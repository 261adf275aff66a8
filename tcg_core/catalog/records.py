"""What the one pass over an archive tells the catalog of an episode. Plain values: they travel between processes and lie
beside the day's rows as JSON, so that the catalog can be filled again without another pass."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["rows", "excluded", "quarantined"]

#: Begins the reason of an episode that met an error of this code; the error's name follows.
INTERNAL = "internal: "


@dataclass(frozen=True)
class GameRecord:
    """One game. ``outcome`` is seat 0's: 1 won, -1 lost, 0 drawn, None unknown; ``excluded`` names the rule, if any."""

    game: int
    outcome: int | None
    reason: int | None
    excluded: str | None
    first_player: int | None
    prizes: tuple[int, int] | None
    decisions: int
    rows: int


@dataclass(frozen=True)
class Participant:
    """One participant: its team name and deck."""

    name: str
    deck_hash: str


@dataclass(frozen=True)
class EpisodeRecord:
    """One member of the archive, which ended as rows, excluded or quarantined; never in part."""

    member: str
    episode_id: int | None
    status: Status
    reason: str | None = None
    detail: str | None = None
    content_hash: str | None = None
    generation: str | None = None
    module_version: str | None = None
    best_of: int | None = None
    seats: tuple[Participant, ...] = ()
    games: tuple[GameRecord, ...] = ()
    caveats: dict[str, int] = field(default_factory=dict)

    @property
    def decisions(self) -> int:
        """Decisions of all games."""
        return sum(game.decisions for game in self.games)

    @property
    def rows(self) -> int:
        """Training rows of the kept games."""
        return sum(game.rows for game in self.games)

    def plain(self) -> dict[str, Any]:
        """JSON values; :meth:`from_plain` reads them back."""
        return asdict(self)

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> "EpisodeRecord":
        """Inverse of :meth:`plain`."""
        games = tuple(
            GameRecord(**game | {"prizes": None if game["prizes"] is None else tuple(game["prizes"])}) for game in values["games"]
        )
        return cls(**values | {"seats": tuple(Participant(**seat) for seat in values["seats"]), "games": games})


@dataclass(frozen=True)
class DatasetRecord:
    """A built day: what its directory holds. ``path`` is relative to the home; ``sha256`` is of the file of rows, for its
    integrity; ``rows_digest`` of the logical rows in it, None where it was built without and was not read since."""

    dataset_id: str
    day: str
    path: str
    sha256: str
    bytes: int
    rows: int
    episodes: int
    row_groups: int
    generations: tuple[str, ...]
    schema_digest: str
    code: str
    archive_sha256: str
    rows_digest: str | None
