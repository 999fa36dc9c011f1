"""Resources over the API: organizations, projects, connections, models and what lies in them."""
