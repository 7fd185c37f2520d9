"""Model files: header, catalogue, integrity. Reads headers only; never loads a model."""
