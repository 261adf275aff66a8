"""Names of a submission and its members, for those who need no network."""

KIND = "submission"
ARCHIVE = "submission.tar.gz"
DECK, ENTRY = "deck.csv", "main.py"
