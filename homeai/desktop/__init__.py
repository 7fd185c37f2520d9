"""The window and the tray: the only Qt code. A client of the core over loopback HTTP."""
