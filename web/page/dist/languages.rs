// The languages: tag and file. web/page/build.mjs makes this file.
&[
    ("ar", include_str!("../../lang/ar.json")),
    ("de", include_str!("../../lang/de.json")),
    ("en", include_str!("../../lang/en.json")),
    ("es", include_str!("../../lang/es.json")),
    ("fr", include_str!("../../lang/fr.json")),
    ("ja", include_str!("../../lang/ja.json")),
    ("ko", include_str!("../../lang/ko.json")),
    ("zh-Hans", include_str!("../../lang/zh-Hans.json")),
    ("zh-Hant", include_str!("../../lang/zh-Hant.json")),
]
