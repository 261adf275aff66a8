"""Statistics of matches: pure functions of counts, each named precisely."""
