"""Code shared by all endpoints: the context of a request, problems, names, pages and writes."""
