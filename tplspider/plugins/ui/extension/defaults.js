// The port of scrapy ui. "scrapy ui --extension DIR" writes its own here.
export const PORT = 8765;
