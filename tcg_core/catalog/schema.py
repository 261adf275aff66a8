"""Tables of the catalog, as numbered migrations that are never edited once released: a change is a new number.

All paths are relative to the data home, so that a home can be moved. A *day* is what its archive says: all rows of a
day are replaced when its archive is. Episode ids may recur on another day with the same content.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Migration:
    """One step from version ``number - 1`` to ``number``."""

    number: int
    name: str
    statements: tuple[str, ...]


#: As migration 1 wrote them; ``stale`` was a state before staleness became a comparison of code identities.
_STATES_1 = ("staged", "validated", "superseded", "failed", "damaged", "stale", "excluded")
_DAY = "day TEXT NOT NULL CHECK (length(day) = 10 AND date(day) IS day)"
_SHA = "CHECK (length({0}) = 64)"

_DAYS = Migration(
    1,
    "days and their episodes",
    (
        f"""CREATE TABLE days (
            {_DAY},
            archive_sha256 TEXT NOT NULL {_SHA.format("archive_sha256")},
            archive_path TEXT NOT NULL,
            archive_bytes INTEGER NOT NULL CHECK (archive_bytes > 0),
            members INTEGER NOT NULL CHECK (members > 0),
            directory_digest TEXT NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            taken_at TEXT NOT NULL,
            cataloged_at TEXT,
            PRIMARY KEY (day)
        ) STRICT, WITHOUT ROWID""",
        f"""CREATE TABLE datasets (
            dataset_id TEXT NOT NULL CHECK (length(dataset_id) = 16),
            {_DAY} REFERENCES days (day),
            state TEXT NOT NULL CHECK (state IN {_STATES_1}),
            reason TEXT,
            path TEXT NOT NULL,
            sha256 TEXT NOT NULL {_SHA.format("sha256")},
            bytes INTEGER NOT NULL CHECK (bytes > 0),
            rows INTEGER NOT NULL CHECK (rows >= 0),
            episodes INTEGER NOT NULL CHECK (episodes >= 0),
            row_groups INTEGER NOT NULL CHECK (row_groups >= 0),
            generations TEXT NOT NULL,
            schema_digest TEXT NOT NULL,
            code TEXT NOT NULL,
            archive_sha256 TEXT NOT NULL {_SHA.format("archive_sha256")},
            created_at TEXT NOT NULL,
            changed_at TEXT NOT NULL,
            PRIMARY KEY (day, dataset_id),
            CHECK (state NOT IN ('failed', 'damaged', 'excluded') OR reason IS NOT NULL)
        ) STRICT, WITHOUT ROWID""",
        "CREATE UNIQUE INDEX datasets_one_validated ON datasets (day) WHERE state = 'validated'",
        """CREATE TABLE decks (
            deck_hash TEXT NOT NULL CHECK (length(deck_hash) = 64),
            cards TEXT NOT NULL CHECK (json_valid(cards)),
            PRIMARY KEY (deck_hash)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE agents (
            agent_id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        ) STRICT""",
        f"""CREATE TABLE episodes (
            {_DAY} REFERENCES days (day) ON DELETE CASCADE,
            member TEXT NOT NULL,
            episode_id INTEGER CHECK (episode_id >= 0),
            status TEXT NOT NULL CHECK (status IN ('rows', 'excluded', 'quarantined')),
            reason TEXT,
            detail TEXT,
            content_hash TEXT {_SHA.format("content_hash")},
            generation TEXT,
            module_version TEXT,
            best_of INTEGER CHECK (best_of BETWEEN 1 AND 9),
            decisions INTEGER NOT NULL CHECK (decisions >= 0),
            rows INTEGER NOT NULL CHECK (rows >= 0),
            caveats TEXT NOT NULL CHECK (json_valid(caveats)),
            PRIMARY KEY (day, member),
            UNIQUE (day, episode_id),
            CHECK (status = 'rows' OR reason IS NOT NULL),
            CHECK (status = 'quarantined' OR (episode_id IS NOT NULL AND content_hash IS NOT NULL AND generation IS NOT NULL)),
            CHECK ((status = 'rows') = (rows > 0))
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX episodes_by_id ON episodes (episode_id)",
        "CREATE INDEX episodes_by_content ON episodes (content_hash)",
        """CREATE TABLE games (
            day TEXT NOT NULL,
            episode_id INTEGER NOT NULL,
            game INTEGER NOT NULL CHECK (game >= 0),
            outcome INTEGER CHECK (outcome IN (-1, 0, 1)),
            reason INTEGER,
            excluded TEXT,
            first_player INTEGER CHECK (first_player IN (0, 1)),
            prizes0 INTEGER CHECK (prizes0 BETWEEN 0 AND 6),
            prizes1 INTEGER CHECK (prizes1 BETWEEN 0 AND 6),
            decisions INTEGER NOT NULL CHECK (decisions >= 0),
            rows INTEGER NOT NULL CHECK (rows >= 0),
            PRIMARY KEY (day, episode_id, game),
            FOREIGN KEY (day, episode_id) REFERENCES episodes (day, episode_id) ON DELETE CASCADE,
            CHECK (excluded IS NULL OR rows = 0)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE participants (
            day TEXT NOT NULL,
            episode_id INTEGER NOT NULL,
            side INTEGER NOT NULL CHECK (side IN (0, 1)),
            agent_id INTEGER NOT NULL REFERENCES agents (agent_id),
            deck_hash TEXT NOT NULL REFERENCES decks (deck_hash),
            PRIMARY KEY (day, episode_id, side),
            FOREIGN KEY (day, episode_id) REFERENCES episodes (day, episode_id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX participants_by_agent ON participants (agent_id)",
        "CREATE INDEX participants_by_deck ON participants (deck_hash)",
        # Ids that more than one day holds; kept beside the episodes so that selecting does not scan them all.
        f"""CREATE TABLE shared_episodes (
            episode_id INTEGER NOT NULL,
            {_DAY} REFERENCES days (day) ON DELETE CASCADE,
            PRIMARY KEY (episode_id, day)
        ) STRICT, WITHOUT ROWID""",
        f"""CREATE TABLE agent_elo_daily (
            agent_id INTEGER NOT NULL REFERENCES agents (agent_id),
            {_DAY},
            source TEXT NOT NULL CHECK (source IN ('remote', 'replay')),
            elo REAL NOT NULL,
            games INTEGER NOT NULL CHECK (games >= 0),
            wins INTEGER NOT NULL CHECK (wins >= 0),
            losses INTEGER NOT NULL CHECK (losses >= 0),
            draws INTEGER NOT NULL CHECK (draws >= 0),
            PRIMARY KEY (day, source, agent_id)
        ) STRICT, WITHOUT ROWID""",
    ),
)

_REGISTRY = Migration(
    2,
    "registry of artifacts and verified files",
    (
        f"""CREATE TABLE artifacts (
            kind TEXT NOT NULL,
            id TEXT NOT NULL,
            path TEXT NOT NULL,
            content TEXT NOT NULL {_SHA.format("content")},
            code TEXT NOT NULL,
            config TEXT NOT NULL CHECK (json_valid(config)),
            facts TEXT NOT NULL CHECK (json_valid(facts)),
            sequence INTEGER NOT NULL UNIQUE,
            registered_at TEXT NOT NULL,
            PRIMARY KEY (kind, id)
        ) STRICT, WITHOUT ROWID""",
        f"""CREATE TABLE artifact_inputs (
            kind TEXT NOT NULL,
            id TEXT NOT NULL,
            position INTEGER NOT NULL CHECK (position >= 0),
            input_kind TEXT NOT NULL,
            input_id TEXT NOT NULL,
            input_sha256 TEXT NOT NULL {_SHA.format("input_sha256")},
            PRIMARY KEY (kind, id, position),
            FOREIGN KEY (kind, id) REFERENCES artifacts (kind, id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX artifact_inputs_back ON artifact_inputs (input_kind, input_id)",
        """CREATE TABLE artifact_checks (
            kind TEXT NOT NULL,
            id TEXT NOT NULL,
            name TEXT NOT NULL,
            passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
            severity TEXT NOT NULL CHECK (severity IN ('ERROR', 'WARN')),
            message TEXT NOT NULL,
            facts TEXT NOT NULL CHECK (json_valid(facts)),
            checked_at TEXT NOT NULL,
            PRIMARY KEY (kind, id, name),
            FOREIGN KEY (kind, id) REFERENCES artifacts (kind, id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID""",
        f"""CREATE TABLE verified_files (
            path TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            sha256 TEXT NOT NULL {_SHA.format("sha256")},
            PRIMARY KEY (path)
        ) STRICT, WITHOUT ROWID""",
    ),
)

_RATINGS = Migration(
    3,
    "what the ratings of each day were made from",
    (
        # as_of: the leaderboard's date for `remote`; for `replay` the last day whose games count, NULL before the first.
        f"""CREATE TABLE rating_days (
            {_DAY},
            source TEXT NOT NULL CHECK (source IN ('remote', 'replay')),
            as_of TEXT,
            inputs TEXT NOT NULL CHECK (length(inputs) = 64),
            agents INTEGER NOT NULL CHECK (agents >= 0),
            computed_at TEXT NOT NULL,
            PRIMARY KEY (day, source),
            CHECK (source <> 'remote' OR as_of <= day),
            CHECK (source <> 'replay' OR as_of < day)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX agent_elo_by_agent ON agent_elo_daily (agent_id)",
    ),
)

_PROMOTIONS = Migration(
    4,
    "who is champion",
    (
        """CREATE TABLE promotions (
            sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
            challenger TEXT NOT NULL,
            incumbent TEXT NOT NULL,
            tournament TEXT NOT NULL,
            verdict TEXT NOT NULL CHECK (verdict IN ('promoted', 'rejected', 'inconclusive')),
            reason TEXT NOT NULL CHECK (length(reason) > 0),
            at TEXT NOT NULL,
            UNIQUE (tournament, incumbent),
            CHECK (challenger <> incumbent)
        ) STRICT""",
        """CREATE TRIGGER promotions_keep BEFORE UPDATE ON promotions
            BEGIN SELECT RAISE(ABORT, 'promotions are append-only'); END""",
        """CREATE TRIGGER promotions_stay BEFORE DELETE ON promotions
            BEGIN SELECT RAISE(ABORT, 'promotions are append-only'); END""",
        # Compare and swap: a decision is about the champion of that moment. `heuristic` reigns before the first promotion.
        """CREATE TRIGGER promotions_incumbent BEFORE INSERT ON promotions
            WHEN NEW.incumbent IS NOT coalesce(
                (SELECT challenger FROM promotions WHERE verdict = 'promoted' ORDER BY sequence DESC LIMIT 1), 'heuristic')
            BEGIN SELECT RAISE(ABORT, 'the incumbent is not the reigning champion'); END""",
    ),
)

_CAP_ORDER = Migration(
    5,
    "the order in which caps keep episodes",
    (
        # rows_through: sum of rows of this and all earlier episodes of the day in the order of cap_key, the SHA-256 of
        # seed and id (catalog/cap_order.py). An episode has rows, so that no two share a sum.
        """CREATE TABLE cap_order (
            day TEXT NOT NULL REFERENCES days (day) ON DELETE CASCADE,
            rows_through INTEGER NOT NULL CHECK (rows_through > 0),
            episode_id INTEGER NOT NULL,
            PRIMARY KEY (day, rows_through)
        ) STRICT, WITHOUT ROWID""",
        "INSERT INTO cap_order SELECT day,"
        " sum(rows) OVER (PARTITION BY day ORDER BY cap_key(episode_id) ROWS UNBOUNDED PRECEDING), episode_id"
        " FROM episodes WHERE status = 'rows'",
    ),
)

_DATASET_COLUMNS = (
    "dataset_id, day, state, reason, path, sha256, bytes, rows, episodes, row_groups, generations, schema_digest, code,"
    " archive_sha256, created_at, changed_at"
)
_NO_STALE_STATE = Migration(
    6,
    "stale is no state: whether a validated day is stale follows from its code",
    (
        # A stale dataset was the validated one when it was marked. It is that again if nothing happened to its day since: no
        # other archive, no later build that was validated, excluded or damaged. Only what was promoted lies below days/.
        """UPDATE datasets SET state = 'validated', reason = NULL WHERE state = 'stale' AND path GLOB 'days/*'
            AND archive_sha256 = (SELECT y.archive_sha256 FROM days y WHERE y.day = datasets.day)
            AND NOT EXISTS (SELECT 1 FROM datasets o WHERE o.day = datasets.day AND o.state = 'validated')
            AND NOT EXISTS (SELECT 1 FROM datasets o WHERE o.day = datasets.day
                AND o.state IN ('stale', 'excluded', 'damaged', 'superseded')
                AND (o.changed_at, o.dataset_id) > (datasets.changed_at, datasets.dataset_id))""",
        """UPDATE datasets SET state = 'superseded',
            reason = CASE WHEN archive_sha256 = (SELECT y.archive_sha256 FROM days y WHERE y.day = datasets.day)
                THEN NULL ELSE 'the day has another archive' END
            WHERE state = 'stale'""",
        f"""CREATE TABLE datasets_6 (
            dataset_id TEXT NOT NULL CHECK (length(dataset_id) = 16),
            {_DAY} REFERENCES days (day),
            state TEXT NOT NULL CHECK (state IN ('staged', 'validated', 'superseded', 'failed', 'damaged', 'excluded')),
            reason TEXT,
            path TEXT NOT NULL,
            sha256 TEXT NOT NULL {_SHA.format("sha256")},
            bytes INTEGER NOT NULL CHECK (bytes > 0),
            rows INTEGER NOT NULL CHECK (rows >= 0),
            episodes INTEGER NOT NULL CHECK (episodes >= 0),
            row_groups INTEGER NOT NULL CHECK (row_groups >= 0),
            generations TEXT NOT NULL,
            schema_digest TEXT NOT NULL,
            code TEXT NOT NULL,
            archive_sha256 TEXT NOT NULL {_SHA.format("archive_sha256")},
            created_at TEXT NOT NULL,
            changed_at TEXT NOT NULL,
            PRIMARY KEY (day, dataset_id),
            CHECK (state NOT IN ('failed', 'damaged', 'excluded') OR reason IS NOT NULL)
        ) STRICT, WITHOUT ROWID""",
        f"INSERT INTO datasets_6 ({_DATASET_COLUMNS}) SELECT {_DATASET_COLUMNS} FROM datasets",
        "DROP TABLE datasets",
        "ALTER TABLE datasets_6 RENAME TO datasets",
        "CREATE UNIQUE INDEX datasets_one_validated ON datasets (day) WHERE state = 'validated'",
        # Attempts are counted where the back-off reads them: in the tags of the runs.
        "ALTER TABLE days DROP COLUMN attempts",
    ),
)

_ROWS_DIGEST = Migration(
    7,
    "the hash of the logical rows of each dataset",
    # NULL: built before it was recorded and not read since (rows/digest.py).
    (f"ALTER TABLE datasets ADD COLUMN rows_digest TEXT {_SHA.format('rows_digest')}",),
)

_DAY_PROOFS = Migration(
    8,
    "builds of days that were proven equal under other code",
    (
        # sha256: of the file of rows that was compared; a dataset of other bytes is not what was proven.
        f"""CREATE TABLE day_proofs (
            {_DAY},
            dataset_id TEXT NOT NULL CHECK (length(dataset_id) = 16),
            code TEXT NOT NULL,
            built_by TEXT NOT NULL,
            sha256 TEXT NOT NULL {_SHA.format("sha256")},
            rows_digest TEXT NOT NULL {_SHA.format("rows_digest")},
            episodes INTEGER NOT NULL CHECK (episodes BETWEEN 0 AND of_episodes),
            of_episodes INTEGER NOT NULL,
            evidence TEXT NOT NULL,
            evidence_sha256 TEXT NOT NULL {_SHA.format("evidence_sha256")},
            proven_at TEXT NOT NULL,
            PRIMARY KEY (day, dataset_id, code)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TRIGGER day_proofs_keep BEFORE UPDATE ON day_proofs
            BEGIN SELECT RAISE(ABORT, 'day_proofs are append-only'); END""",
        """CREATE TRIGGER day_proofs_stay BEFORE DELETE ON day_proofs
            BEGIN SELECT RAISE(ABORT, 'day_proofs are append-only'); END""",
    ),
)

MIGRATIONS = (_DAYS, _REGISTRY, _RATINGS, _PROMOTIONS, _CAP_ORDER, _NO_STALE_STATE, _ROWS_DIGEST, _DAY_PROOFS)
VERSION = MIGRATIONS[-1].number
