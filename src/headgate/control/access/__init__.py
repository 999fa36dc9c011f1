"""Access: assignments, roles and switches, and the rules against privilege escalation and for the last owner."""
