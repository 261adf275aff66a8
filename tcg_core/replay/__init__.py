"""Day archives, replays parsed into decisions, and the recorder that writes them."""
