"""Text: normal forms, letters that look alike, and what is safe to show."""
