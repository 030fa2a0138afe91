// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-2f95e0b11a.css", "text/css; charset=utf-8", include_str!("assets/operate-2f95e0b11a.css")),
    ("assets/operate-a0f8338be4.js", "text/javascript; charset=utf-8", include_str!("assets/operate-a0f8338be4.js")),
    ("assets/lang-en-8a4273c709.json", "application/json", include_str!("assets/lang-en-8a4273c709.json")),
    ("assets/lang-ko-84ae9ba272.json", "application/json", include_str!("assets/lang-ko-84ae9ba272.json")),
]
