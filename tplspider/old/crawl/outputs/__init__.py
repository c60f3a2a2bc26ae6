"""Where results go: feeds and folders, checked before anything is requested."""
