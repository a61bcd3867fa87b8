"""The rules of the dialog protocol, by what they look at."""
