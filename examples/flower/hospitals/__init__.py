"""Three hospitals that train one net with Flower."""
