// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-8ad89d74c0.css", "text/css; charset=utf-8", include_str!("assets/operate-8ad89d74c0.css")),
    ("assets/operate-4c81d1ca76.js", "text/javascript; charset=utf-8", include_str!("assets/operate-4c81d1ca76.js")),
    ("assets/lang-en-9bc28b717c.json", "application/json", include_str!("assets/lang-en-9bc28b717c.json")),
    ("assets/lang-ko-c09a658843.json", "application/json", include_str!("assets/lang-ko-c09a658843.json")),
]
