"""The access models of a deployment: their sources, those that are installed, and those in force in an organization."""
