// The files of the waiting page: path, media type and text. web/page/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/page-78bb5bbe6d.css", "text/css; charset=utf-8", include_str!("assets/page-78bb5bbe6d.css")),
    ("assets/page-9cb77ab825.js", "text/javascript; charset=utf-8", include_str!("assets/page-9cb77ab825.js")),
    ("assets/lang-ar-ecc614479d.json", "application/json", include_str!("assets/lang-ar-ecc614479d.json")),
    ("assets/lang-en-1c77483ce6.json", "application/json", include_str!("assets/lang-en-1c77483ce6.json")),
    ("assets/lang-ja-b74162a12f.json", "application/json", include_str!("assets/lang-ja-b74162a12f.json")),
    ("assets/lang-ko-0c70f2e56d.json", "application/json", include_str!("assets/lang-ko-0c70f2e56d.json")),
    ("theme.css", "text/css; charset=utf-8", include_str!("theme.css")),
    ("theme.json", "application/json", include_str!("theme.json")),
]
