"""Approvals: requests for access, agreements, and changes that another user approves."""
