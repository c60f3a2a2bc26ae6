"""Pages of a server on loopback, one request at a time and without cookies: a source of pages."""

from http.client import HTTPConnection
from urllib.parse import urlsplit

from tplspider import NoPage, Redirect, WebPage


class HttpSource:
    """Loads by Python's own client, which knows nothing of redirects."""

    def load(self, url: str) -> WebPage | Redirect | NoPage:
        parts = urlsplit(url)
        connection = HTTPConnection(parts.netloc, timeout=30)
        try:
            connection.request("GET", parts._replace(scheme="", netloc="").geturl() or "/")
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in reversed(answer.getheaders())}
            return WebPage(url.partition("#")[0], answer.read(), answer.status, headers)
        finally:
            connection.close()
