"""Coverage-guided fuzzing of every decoder (`make fuzz`), and a replay of what it found."""
