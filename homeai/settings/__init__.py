"""Settings, declared once: defaults, bounds, units and texts for file, environment, flags, dialog, docs."""
