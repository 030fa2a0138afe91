// The languages: tag and file. web/page/build.mjs makes this file.
&[
    ("ar", include_str!("../../lang/ar.json")),
    ("en", include_str!("../../lang/en.json")),
    ("ja", include_str!("../../lang/ja.json")),
    ("ko", include_str!("../../lang/ko.json")),
]
