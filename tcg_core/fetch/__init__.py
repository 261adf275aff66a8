"""Days from Kaggle into the inbox: the only part of the project that speaks to a network."""
