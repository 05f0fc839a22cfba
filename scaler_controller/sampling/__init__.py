"""Reading the engines: one sample stream per target, shared by its scalers."""
