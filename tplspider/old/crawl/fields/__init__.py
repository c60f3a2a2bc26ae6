"""In anybody's spider: every item gets the text of its page, without the template of the site."""
