"""Days: taken, built, checked, promoted, backfilled, and how their field drifts."""
