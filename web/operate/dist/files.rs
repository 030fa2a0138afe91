// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-5884a1435d.css", "text/css; charset=utf-8", include_str!("assets/operate-5884a1435d.css")),
    ("assets/operate-207fa8e9bd.js", "text/javascript; charset=utf-8", include_str!("assets/operate-207fa8e9bd.js")),
    ("assets/lang-en-44136fa355.json", "application/json", include_str!("assets/lang-en-44136fa355.json")),
    ("assets/lang-ko-44136fa355.json", "application/json", include_str!("assets/lang-ko-44136fa355.json")),
]
