"""What ``scrapy ui`` needs of Scrapy: the process that searches, and the checks of what it gets."""
