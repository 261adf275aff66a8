"""Static card and attack tables, and the vocabulary that joins both engine generations."""
