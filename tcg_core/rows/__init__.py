"""The rows of a day on disk: Arrow schema, writer, reader, row-group cache, SQL views."""
