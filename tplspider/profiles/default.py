"""The default profile: polite and exact, one request at a time."""

from scrapy.settings import default_settings as _scrapy

BOT_NAME = "tplspider"
SPIDER_MODULES = ["tplspider.spiders"]
NEWSPIDER_MODULE = "tplspider.spiders"
COMMANDS_MODULE = "tplspider.commands"
ADDONS = {"tplspider.addon.Addon": 500}

# Politeness.
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS = 1
CONCURRENT_REQUESTS_PER_DOMAIN = 1
DOWNLOAD_DELAY = 1
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 10 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
RETRY_TIMES = 1

# A resolver that refuses private addresses. Scrapy 2.19 renamed the setting.
_name = "TWISTED_DNS_RESOLVER" if hasattr(_scrapy, "TWISTED_DNS_RESOLVER") else "DNS_RESOLVER"
globals()[_name] = "tplspider.private_addresses.CheckedResolver"

# Consoles that run Python for those who reach them.
REMOTE_CONTROL_ENABLED = False
TELNETCONSOLE_ENABLED = False

# The decisions of the search are logged as INFO.
LOG_LEVEL = "INFO"

FEED_EXPORT_ENCODING = "utf-8"
FEED_STORE_EMPTY = True
