"""Internal endpoints: what the gateway and the guards of the drivers ask."""
