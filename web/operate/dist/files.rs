// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-2f95e0b11a.css", "text/css; charset=utf-8", include_str!("assets/operate-2f95e0b11a.css")),
    ("assets/operate-2b24fcf25e.js", "text/javascript; charset=utf-8", include_str!("assets/operate-2b24fcf25e.js")),
    ("assets/lang-en-4fe0da0aa4.json", "application/json", include_str!("assets/lang-en-4fe0da0aa4.json")),
    ("assets/lang-ko-1ce399cbb2.json", "application/json", include_str!("assets/lang-ko-1ce399cbb2.json")),
]
