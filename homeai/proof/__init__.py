"""`homeai prove`: shows on the user's own machine that the promises hold."""
