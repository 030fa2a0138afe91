"""Checks that the reference page shows each operation of the document, and loads nothing.

    page.py openapi.json index.html rendered.html

rendered.html is the page as a browser has rendered it.
"""

import html
import json
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(document, page, rendered):
    # What a reader sees is outside of scripts.
    shown = html.unescape(re.sub(r"<script.*?</script>", "", read(rendered), flags=re.DOTALL))
    operations = [
        operation["summary"]
        for path in json.loads(read(document))["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict)
    ]
    missing = [summary for summary in operations if f"{summary}<" not in shown]
    if missing:
        return f"the page does not show {missing}"
    # A script, a style sheet or a font of another file would be in the tags of the page, which are few.
    tags = re.sub(r"(<script[^>]*>).*?</script>", r"\1", read(page), flags=re.DOTALL)
    if re.search(r"\b(src|href)=|@import|url\(", tags) or "//cdn." in read(page):
        return "the page loads another file"
    print(f"the reference page shows all {len(operations)} operations")
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
