"""Endings of addresses that are not pages: the list of Scrapy's link extractors."""

# The same strings as scrapy.linkextractors.IGNORED_EXTENSIONS (a test holds them equal), kept here
# so that the algorithms can be used without Scrapy.
IGNORED_EXTENSIONS = frozenset(
    """
    7z 7zip bz2 rar tar tar.gz xz zip mng pct bmp gif jpg jpeg png pst psp tif tiff ai drw dxf
    eps ps svg cdr ico webp mp3 wma ogg wav ra aac mid au aiff 3gp asf asx avi mov mp4 mpg qt
    rm swf wmv m4a m4v flv webm xls xlsm xlsx xltm xltx potm potx ppt pptm pptx pps doc docb
    docm docx dotm dotx odt ods odg odp css pdf exe bin rss dmg iso apk jar sh rb js hta bat
    cpl msi msp py
    """.split()
)
