// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-2f95e0b11a.css", "text/css; charset=utf-8", include_str!("assets/operate-2f95e0b11a.css")),
    ("assets/operate-93fc67800f.js", "text/javascript; charset=utf-8", include_str!("assets/operate-93fc67800f.js")),
    ("assets/lang-en-c327efb45d.json", "application/json", include_str!("assets/lang-en-c327efb45d.json")),
    ("assets/lang-ko-479d419a45.json", "application/json", include_str!("assets/lang-ko-479d419a45.json")),
]
