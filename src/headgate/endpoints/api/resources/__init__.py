"""Resources over the API: organizations, projects, connections, access models and all other resources."""
