// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-2f95e0b11a.css", "text/css; charset=utf-8", include_str!("assets/operate-2f95e0b11a.css")),
    ("assets/operate-8700374c23.js", "text/javascript; charset=utf-8", include_str!("assets/operate-8700374c23.js")),
    ("assets/lang-en-8c13f6f2a6.json", "application/json", include_str!("assets/lang-en-8c13f6f2a6.json")),
    ("assets/lang-ko-ca31d1e50d.json", "application/json", include_str!("assets/lang-ko-ca31d1e50d.json")),
]
