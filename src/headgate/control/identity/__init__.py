"""Identity: principals, groups and tokens of an organization, and who of them a caller is."""
