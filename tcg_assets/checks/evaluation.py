"""Checks of the evaluation assets."""

from tcg_assets.checks.declared import Declared

DECLARED = {
    "tournament": Declared(
        error={
            "seats_balanced": "each pairing is played from both seats equally often",
            "clean": "no error, timeout or fallback of ours",
            "accounted": "every scheduled game has exactly one result",
        }
    ),
    "champion": Declared(
        error={"tournament_verdict": "promoted only on a tournament verdict, which its game table still gives"},
        warn={"days_current": "no day behind it was published again, excluded or found damaged"},
    ),
}
