// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-8ad89d74c0.css", "text/css; charset=utf-8", include_str!("assets/operate-8ad89d74c0.css")),
    ("assets/operate-a5a81e39d8.js", "text/javascript; charset=utf-8", include_str!("assets/operate-a5a81e39d8.js")),
    ("assets/lang-en-dfc57856c0.json", "application/json", include_str!("assets/lang-en-dfc57856c0.json")),
    ("assets/lang-ko-855b293c80.json", "application/json", include_str!("assets/lang-ko-855b293c80.json")),
]
