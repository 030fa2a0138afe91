// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-8ad89d74c0.css", "text/css; charset=utf-8", include_str!("assets/operate-8ad89d74c0.css")),
    ("assets/operate-75953e59d9.js", "text/javascript; charset=utf-8", include_str!("assets/operate-75953e59d9.js")),
    ("assets/lang-en-bd074037f5.json", "application/json", include_str!("assets/lang-en-bd074037f5.json")),
    ("assets/lang-ko-ea204cfcff.json", "application/json", include_str!("assets/lang-ko-ea204cfcff.json")),
]
