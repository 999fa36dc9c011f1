"""What endpoints share: the context of a request, problems, names, pages and writes."""
