"""Days from Kaggle into the inbox: the only part of the flow that speaks to a network."""
