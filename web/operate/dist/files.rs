// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-1608d4ff59.css", "text/css; charset=utf-8", include_str!("assets/operate-1608d4ff59.css")),
    ("assets/operate-6ae43fc57d.js", "text/javascript; charset=utf-8", include_str!("assets/operate-6ae43fc57d.js")),
    ("assets/lang-en-2d9dd3726f.json", "application/json", include_str!("assets/lang-en-2d9dd3726f.json")),
    ("assets/lang-ko-069b050adf.json", "application/json", include_str!("assets/lang-ko-069b050adf.json")),
]
