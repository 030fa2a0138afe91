// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-2f95e0b11a.css", "text/css; charset=utf-8", include_str!("assets/operate-2f95e0b11a.css")),
    ("assets/operate-d597b12870.js", "text/javascript; charset=utf-8", include_str!("assets/operate-d597b12870.js")),
    ("assets/lang-en-cd6514dd9b.json", "application/json", include_str!("assets/lang-en-cd6514dd9b.json")),
    ("assets/lang-ko-17a95a431a.json", "application/json", include_str!("assets/lang-ko-17a95a431a.json")),
]
