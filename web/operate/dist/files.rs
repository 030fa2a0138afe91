// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-8ad89d74c0.css", "text/css; charset=utf-8", include_str!("assets/operate-8ad89d74c0.css")),
    ("assets/operate-cd6c90fb5b.js", "text/javascript; charset=utf-8", include_str!("assets/operate-cd6c90fb5b.js")),
    ("assets/lang-en-8aae004921.json", "application/json", include_str!("assets/lang-en-8aae004921.json")),
    ("assets/lang-ko-f7cd044f97.json", "application/json", include_str!("assets/lang-ko-f7cd044f97.json")),
]
