// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-2f95e0b11a.css", "text/css; charset=utf-8", include_str!("assets/operate-2f95e0b11a.css")),
    ("assets/operate-89da297aa0.js", "text/javascript; charset=utf-8", include_str!("assets/operate-89da297aa0.js")),
    ("assets/lang-en-37aabded1c.json", "application/json", include_str!("assets/lang-en-37aabded1c.json")),
    ("assets/lang-ko-d1b81e8e2e.json", "application/json", include_str!("assets/lang-ko-d1b81e8e2e.json")),
]
