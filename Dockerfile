# A scrapyd node, as docs/deploy.md sets one up: deploy the project to it with scrapyd-deploy.
FROM python:3.13-slim
WORKDIR /server
COPY requirements.txt /tmp/
RUN pip install --no-cache-dir -r /tmp/requirements.txt \
        "scrapyd>=1.6,<1.7" "scrapyd-client>=2.0,<3" "setuptools>=77,<81" \
    && useradd --create-home --uid 1000 scrapyd && chown 1000 /server
USER 1000
# With its user name, password and bind_address = 0.0.0.0:
#   docker run -v ./scrapyd.conf:/server/scrapyd.conf:ro -p 127.0.0.1:6800:6800 IMAGE
ENV TPLSPIDER_FEEDS_DIR=/server/items/feeds
VOLUME ["/server/items"]
EXPOSE 6800
CMD ["scrapyd"]
