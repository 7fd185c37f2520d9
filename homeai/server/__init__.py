"""The HTTP doors: they check, translate and stream; they decide nothing."""
