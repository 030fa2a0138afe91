// The scripts of the client library: address and text. web/client/build.mjs makes this file.
&[
    ("/vestibule.js", include_str!("vestibule.js")),
    ("/element.js", include_str!("element.js")),
    ("/closing.js", include_str!("closing.js")),
    ("/hand_over.js", include_str!("hand_over.js")),
    ("/lang-ar.js", include_str!("lang-ar.js")),
    ("/lang-de.js", include_str!("lang-de.js")),
    ("/lang-es.js", include_str!("lang-es.js")),
    ("/lang-fr.js", include_str!("lang-fr.js")),
    ("/lang-ja.js", include_str!("lang-ja.js")),
    ("/lang-ko.js", include_str!("lang-ko.js")),
    ("/lang-zh-Hans.js", include_str!("lang-zh-Hans.js")),
    ("/lang-zh-Hant.js", include_str!("lang-zh-Hant.js")),
]
