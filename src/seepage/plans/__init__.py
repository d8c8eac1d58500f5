"""What users name: parts by name with their options."""
