"""Elo, leaderboard snapshots, and the table of ratings as of each day."""
