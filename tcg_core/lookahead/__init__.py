"""Would this attack knock out? Answered by the engine's look-ahead for every attack option of a day; off by default. It lies
beside the rows as ``would_ko.parquet`` and changes no row; ``read`` gives it to a network that asks for it."""
