// The files of the waiting page: path, media type and text. web/page/build.mjs makes this file.
&[
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("assets/page-78bb5bbe6d.css", "text/css; charset=utf-8", include_str!("assets/page-78bb5bbe6d.css")),
    ("assets/page-ffba76405f.js", "text/javascript; charset=utf-8", include_str!("assets/page-ffba76405f.js")),
    ("assets/lang-ar-78381ff7da.json", "application/json", include_str!("assets/lang-ar-78381ff7da.json")),
    ("assets/lang-en-36f005bc1d.json", "application/json", include_str!("assets/lang-en-36f005bc1d.json")),
    ("assets/lang-ja-e81e833109.json", "application/json", include_str!("assets/lang-ja-e81e833109.json")),
    ("assets/lang-ko-4e331291f7.json", "application/json", include_str!("assets/lang-ko-4e331291f7.json")),
    ("theme.css", "text/css; charset=utf-8", include_str!("theme.css")),
    ("theme.json", "application/json", include_str!("theme.json")),
]
