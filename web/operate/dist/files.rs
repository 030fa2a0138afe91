// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-8ad89d74c0.css", "text/css; charset=utf-8", include_str!("assets/operate-8ad89d74c0.css")),
    ("assets/operate-a8aba7cf09.js", "text/javascript; charset=utf-8", include_str!("assets/operate-a8aba7cf09.js")),
    ("assets/lang-en-15ae302a9e.json", "application/json", include_str!("assets/lang-en-15ae302a9e.json")),
    ("assets/lang-ko-cd51970fcc.json", "application/json", include_str!("assets/lang-ko-cd51970fcc.json")),
]
