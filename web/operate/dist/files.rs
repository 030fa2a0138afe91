// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-6f508f1bb4.css", "text/css; charset=utf-8", include_str!("assets/operate-6f508f1bb4.css")),
    ("assets/operate-3ae83d20c0.js", "text/javascript; charset=utf-8", include_str!("assets/operate-3ae83d20c0.js")),
    ("assets/lang-en-101b92254c.json", "application/json", include_str!("assets/lang-en-101b92254c.json")),
    ("assets/lang-ko-f9210a4bfe.json", "application/json", include_str!("assets/lang-ko-f9210a4bfe.json")),
]
