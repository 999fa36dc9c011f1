"""Internal endpoints, for the gateway and for the guards in the drivers."""
