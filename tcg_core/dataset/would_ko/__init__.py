"""Would this attack knock out? Answered by the engine's look-ahead for every attack option of a day; analysis only, off by
default. It lies beside the rows as ``would_ko.parquet`` and changes no row."""
