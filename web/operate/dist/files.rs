// The files of the operator's console: path, media type and text. web/operate/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/operate-b2861fc7a8.css", "text/css; charset=utf-8", include_str!("assets/operate-b2861fc7a8.css")),
    ("assets/operate-8d35660668.js", "text/javascript; charset=utf-8", include_str!("assets/operate-8d35660668.js")),
    ("assets/lang-en-c7e9257dbc.json", "application/json", include_str!("assets/lang-en-c7e9257dbc.json")),
    ("assets/lang-ko-6e94c5c87f.json", "application/json", include_str!("assets/lang-ko-6e94c5c87f.json")),
]
