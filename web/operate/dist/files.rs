// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-6dd7856e74.css", "text/css; charset=utf-8", include_str!("assets/operate-6dd7856e74.css")),
    ("assets/operate-115a06c8ec.js", "text/javascript; charset=utf-8", include_str!("assets/operate-115a06c8ec.js")),
    ("assets/lang-en-b76beae59e.json", "application/json", include_str!("assets/lang-en-b76beae59e.json")),
    ("assets/lang-ko-b35b81327b.json", "application/json", include_str!("assets/lang-ko-b35b81327b.json")),
]
