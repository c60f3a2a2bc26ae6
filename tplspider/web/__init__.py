"""What a page is: addresses, HTML, links, text. Nothing here loads anything."""
