"""Identity: principals, groups and tokens of an organization, and the callers that act for them."""
