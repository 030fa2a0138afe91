// The files of the waiting page: path, media type and text. web/page/build.mjs makes this file.
&[
    ("pages/ar.html", "text/html; charset=utf-8", include_str!("pages/ar.html")),
    ("pages/de.html", "text/html; charset=utf-8", include_str!("pages/de.html")),
    ("pages/en.html", "text/html; charset=utf-8", include_str!("pages/en.html")),
    ("pages/es.html", "text/html; charset=utf-8", include_str!("pages/es.html")),
    ("pages/fr.html", "text/html; charset=utf-8", include_str!("pages/fr.html")),
    ("pages/ja.html", "text/html; charset=utf-8", include_str!("pages/ja.html")),
    ("pages/ko.html", "text/html; charset=utf-8", include_str!("pages/ko.html")),
    ("pages/zh-Hans.html", "text/html; charset=utf-8", include_str!("pages/zh-Hans.html")),
    ("pages/zh-Hant.html", "text/html; charset=utf-8", include_str!("pages/zh-Hant.html")),
    ("theme.css", "text/css; charset=utf-8", include_str!("theme.css")),
    ("theme.json", "application/json", include_str!("theme.json")),
]
